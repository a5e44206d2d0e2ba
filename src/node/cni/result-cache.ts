import { createHash } from 'node:crypto'
import { closeSync, fdatasync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'
import type { Json, JsonObject } from '../../model/api-object.ts'
import { describeError } from '../../model/errors.ts'
import { isJsonObject } from './types.ts'

/** One ADD as it is remembered: enough to undo it when configuration and pod are long gone. */
export interface Attachment {
  readonly network: string
  readonly containerId: string
  readonly ifName: string
  readonly netnsPath: string
  /** The network list at the time of ADD, as text. */
  readonly config: string
  readonly cniArgs: readonly (readonly [string, string])[]
  readonly capabilityArgs: JsonObject
  /** The result of the last plugin; absent between the begin of ADD and its end. */
  readonly result?: JsonObject
  /** Made by this runtime, and not by containerd, CRI-O or cnitool, which keep theirs in the same folder. */
  readonly isOurs: boolean
}

type AttachmentName = Pick<Attachment, 'network' | 'containerId' | 'ifName'>

export interface CacheEntry {
  readonly file: string
  /** Undefined where the file could not be read as an attachment, for example because it is empty. */
  readonly attachment: Attachment | undefined
}

/** `owner` is ours; everything else is libcni's `cniCacheV1`. */
const schema = z.looseObject({
  kind: z.literal('cniCacheV1'),
  containerId: z.string(),
  config: z.base64(),
  ifName: z.string(),
  networkName: z.string(),
  netns: z.string().optional(),
  cniArgs: z.array(z.tuple([z.string(), z.string()])).nullish(),
  capabilityArgs: z.custom<JsonObject>((value) => isJsonObject(value as Json)).nullish(),
  result: z.custom<JsonObject>((value) => isJsonObject(value as Json)).nullish(),
  owner: z.string().optional(),
})

/**
 * What ADDs made, in libcni's path and format (`results/<network>-<container>-<interface>`), so that cnitool and CRI-O read it too. Files
 * appear whole or not at all.
 */
export class ResultCache {
  readonly #folder: string
  readonly #owner: string

  /** `owner` tells our files from those of other runtimes. */
  constructor(cacheDir: string, owner: string) {
    this.#folder = join(cacheDir, 'results')
    this.#owner = owner
  }

  /**
   * What an ADD begins is there for a process that comes after this one; only what it made is synced, so that a machine that loses its power
   * keeps no empty file. Without the first one such a machine has lost nothing: its links and namespaces are gone as well, and an address
   * that no file accounts for is released. What a process before this one did not finish to write goes with the next write, or with `remove`.
   */
  async write(attachment: Attachment): Promise<void> {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    const temporary = this.#unfinishedOf(attachment)
    try {
      rmSync(temporary, { force: true })
      const file = openSync(temporary, 'wx', 0o600)
      try {
        writeFileSync(file, JSON.stringify(toFile(attachment, this.#owner)))
        // A disk takes its time: others go on meanwhile.
        if (attachment.result !== undefined) await syncToDisk(file)
      } finally {
        closeSync(file)
      }
      renameSync(temporary, this.#fileOf(attachment))
    } catch (error) {
      rmSync(temporary, { force: true })
      throw error
    }
  }

  async remove(attachment: AttachmentName): Promise<void> {
    for (const file of [this.#unfinishedOf(attachment), this.#fileOf(attachment)]) await rm(file, { force: true })
  }

  /** The attachments of one interface of one container, whatever their network. */
  async find(containerId: string, ifName: string): Promise<readonly Attachment[]> {
    const entries = await this.list((name) => name.endsWith(`-${containerId}-${ifName}`))
    return entries
      .flatMap(({ attachment }) => (attachment ? [attachment] : []))
      .filter((attachment) => attachment.containerId === containerId && attachment.ifName === ifName)
  }

  /** What a crash in the middle of a write left of an attachment that nobody undoes; a file that is being written is younger than a minute. */
  async removeHalfWritten(): Promise<void> {
    for (const name of (await this.#names()).filter((one) => one.endsWith('.tmp'))) {
      const file = join(this.#folder, name)
      const found = await stat(file).catch(() => undefined)
      if (found !== undefined && Date.now() - found.mtimeMs > 60_000) await rm(file, { force: true })
    }
  }

  async list(isWanted: (name: string) => boolean = () => true): Promise<readonly CacheEntry[]> {
    const names = (await this.#names()).filter((name) => !name.startsWith('.') && isWanted(name)).sort()
    return Promise.all(names.map(async (name) => readEntry(join(this.#folder, name), this.#owner)))
  }

  async #names(): Promise<string[]> {
    try {
      return await readdir(this.#folder)
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
      throw error
    }
  }

  #fileOf(name: AttachmentName): string {
    return join(this.#folder, baseName(name))
  }

  /** One for all writes of an attachment: they come one after another, and whoever ends it knows where half of one is. */
  #unfinishedOf(name: AttachmentName): string {
    return join(this.#folder, `.${createHash('sha256').update(baseName(name)).digest('hex').slice(0, 32)}.tmp`)
  }
}

function baseName({ network, containerId, ifName }: AttachmentName): string {
  return `${network}-${containerId}-${ifName}`
}

const syncToDisk = promisify(fdatasync)

async function readEntry(file: string, owner: string): Promise<CacheEntry> {
  try {
    const parsed = schema.safeParse(JSON.parse(await readFile(file, 'utf8')))
    return { file, attachment: parsed.success ? fromFile(parsed.data, owner) : undefined }
  } catch (error) {
    if (!(error instanceof Error)) throw new Error(describeError(error))
    return { file, attachment: undefined }
  }
}

/** An unfinished ADD gets an empty result: libcni cannot read a cache file without one. */
function toFile(attachment: Attachment, owner: string): JsonObject {
  return {
    kind: 'cniCacheV1',
    containerId: attachment.containerId,
    config: Buffer.from(attachment.config).toString('base64'),
    ifName: attachment.ifName,
    networkName: attachment.network,
    netns: attachment.netnsPath,
    cniArgs: attachment.cniArgs.map(([key, value]) => [key, value]),
    capabilityArgs: attachment.capabilityArgs,
    result: attachment.result ?? { cniVersion: '1.0.0' },
    ...(attachment.isOurs && { owner }),
  }
}

function fromFile(file: z.output<typeof schema>, owner: string): Attachment {
  const { result } = file
  const isFinished = result?.['ips'] !== undefined || result?.['interfaces'] !== undefined
  return {
    network: file.networkName,
    containerId: file.containerId,
    ifName: file.ifName,
    netnsPath: file.netns ?? '',
    config: Buffer.from(file.config, 'base64').toString('utf8'),
    cniArgs: file.cniArgs ?? [],
    capabilityArgs: file.capabilityArgs ?? {},
    ...(result && isFinished && { result }),
    isOurs: file.owner === owner,
  }
}
