import { createHash } from 'node:crypto'
import { closeSync, fdatasync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'
import { isObject, type Json, type JsonObject } from '../../model/api-object.ts'
import { describeError } from '../../model/errors.ts'

/** One cached ADD: enough to undo it after configuration and pod are gone. */
export interface Attachment {
  readonly network: string
  readonly containerId: string
  readonly ifName: string
  readonly netnsPath: string
  /** The network list at the time of ADD, as text. */
  readonly config: string
  readonly cniArgs: readonly (readonly [string, string])[]
  readonly capabilityArgs: JsonObject
  /** The result of the last plugin; absent during ADD. */
  readonly result?: JsonObject
  /** True if this runtime made it, and not containerd, CRI-O or cnitool, which use the same folder. */
  readonly isOurs: boolean
}

type AttachmentName = Pick<Attachment, 'network' | 'containerId' | 'ifName'>

export interface CacheEntry {
  readonly file: string
  /** Undefined if the file cannot be parsed, for example because it is empty. */
  readonly attachment: Attachment | undefined
}

/** The cache file: libcni's `cniCacheV1` with our field `owner`. */
const schema = z.looseObject({
  kind: z.literal('cniCacheV1'),
  containerId: z.string(),
  config: z.base64(),
  ifName: z.string(),
  networkName: z.string(),
  netns: z.string().optional(),
  cniArgs: z.array(z.tuple([z.string(), z.string()])).nullish(),
  capabilityArgs: z.custom<JsonObject>((value) => isObject(value as Json)).nullish(),
  result: z.custom<JsonObject>((value) => isObject(value as Json)).nullish(),
  owner: z.string().optional(),
})

/**
 * Stores attachments in libcni's path and format (`results/<network>-<container>-<interface>`), which cnitool and CRI-O read too. Each
 * file is replaced in one step.
 */
export class ResultCache {
  readonly #folder: string
  readonly #owner: string

  /** `owner` marks our files among those of other runtimes. */
  constructor(cacheDir: string, owner: string) {
    this.#folder = join(cacheDir, 'results')
    this.#owner = owner
  }

  /**
   * Writes an attachment. The file of an ADD that begins survives this process and is not synced: after a power failure its links and
   * namespaces are gone as well, and GC releases its address. The file with the result is synced, so that a power failure leaves no empty
   * file. An incomplete file of an earlier process disappears with the next write or `remove`.
   */
  async write(attachment: Attachment): Promise<void> {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    const temporary = this.#unfinishedOf(attachment)
    try {
      rmSync(temporary, { force: true })
      const file = openSync(temporary, 'wx', 0o600)
      try {
        writeFileSync(file, JSON.stringify(toFile(attachment, this.#owner)))
        // A sync is slow, so it is asynchronous.
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

  /** Finds the attachments of one interface of one container on all networks. */
  async find(containerId: string, ifName: string): Promise<readonly Attachment[]> {
    const entries = await this.list((name) => name.endsWith(`-${containerId}-${ifName}`))
    return entries
      .flatMap(({ attachment }) => (attachment ? [attachment] : []))
      .filter((attachment) => attachment.containerId === containerId && attachment.ifName === ifName)
  }

  /** Removes temporary files that a crash left; a file that is being written is younger than a minute. */
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

  /** Returns the temporary path of an attachment: one for all its writes, because they are sequential, so that `remove` finds an incomplete one. */
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

/** Builds the file's content; an unfinished ADD gets an empty result, because libcni cannot read a file without one. */
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
