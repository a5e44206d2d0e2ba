import { createHash } from 'node:crypto'
import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Backoff } from '../../../loop/backoff.ts'
import { isVolumeFailure, PodError } from '../errors.ts'
import type { PodSpec } from '../pod-spec.ts'
import { writeAtomically } from './atomic-files.ts'
import type { ObjectReader } from './object-reader.ts'
import {
  type DataObject,
  objectKeyOf,
  ownerOf,
  planFiles,
  type TokenSource,
  tokenKey,
  type VolumeFile,
} from './plan-files.ts'
import { renewalMs } from './plan-renewal.ts'
import type { VolumeApi } from './volume-api.ts'
import type { FilesVolume } from './volume-spec.ts'

/** A ConfigMap or a Secret is read again after this time and a random part of up to half of it. */
const freshMs = 60_000
/** Limits for one pod: its volumes are in memory. */
const maxBytes = 16 * 1024 * 1024
const maxFiles = 2_000

export interface PodVolumesParts {
  /** The folder of the pod's volumes. */
  readonly folder: string
  readonly api: Pick<VolumeApi, 'requestToken'>
  readonly objects: ObjectReader
  /** Called when an update of existing files fails; a retry follows. */
  readonly onTrouble: (pod: PodSpec, error: unknown) => void
}

interface HeldToken {
  readonly token: string
  readonly renewAtMs: number
  readonly endsAtMs: number
}

/** Writes the volumes of one pod before its first container starts, and keeps them up to date. */
export class PodVolumes {
  readonly #parts: PodVolumesParts
  readonly #tokens = new Map<string, HeldToken>()
  /** The digest of the last write, by the name of the volume. */
  readonly #written = new Map<string, string>()
  readonly #backoff = new Backoff({ baseMs: 1000, maxMs: 120_000 })
  #pod: PodSpec
  #isMade = false
  #isKept = false
  #update: Promise<void> | undefined
  #writing: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #isOver = false

  constructor(parts: PodVolumesParts, pod: PodSpec) {
    this.#parts = parts
    this.#pod = pod
  }

  /** Resolves when every file exists. Does nothing after the first success. Throws PodError `volume-failed`. */
  async make(): Promise<void> {
    if (this.#isMade) return
    try {
      await this.#bringUpToDate(0)
    } catch (cause) {
      if (isVolumeFailure(cause)) throw cause
      throw new PodError('volume-failed', "the pod's volumes could not be made", { cause })
    }
  }

  /** Starts updates of files that a previous agent wrote. */
  keep(): void {
    if (this.#isKept) return
    this.#isKept = true
    this.#schedule(0)
  }

  /** Takes the current Pod of the API: its labels and annotations can be files. */
  setPod(pod: PodSpec): void {
    const before = this.#pod
    this.#pod = pod
    const isShown = mountedVolumes(pod).some(({ sources }) => sources.some(({ kind }) => kind === 'fields'))
    const isSame = isEqual(before.labels, pod.labels) && isEqual(before.annotations, pod.annotations)
    if (this.#isKept && isShown && !isSame) this.#schedule(0)
  }

  /** Resolves when no write is under way. Does not wait for the API server. */
  async stop(): Promise<void> {
    this.#isOver = true
    clearTimeout(this.#timer)
    await this.#writing?.catch(() => {})
  }

  #schedule(delayMs: number): void {
    clearTimeout(this.#timer)
    if (this.#isOver) return
    this.#timer = setTimeout(() => void this.#tryUpdate(), delayMs)
    this.#timer.unref()
  }

  async #tryUpdate(): Promise<void> {
    try {
      await this.#bringUpToDate(freshMs)
    } catch (error) {
      this.#parts.onTrouble(this.#pod, error)
      this.#schedule(this.#backoff.nextDelayMs())
    }
  }

  /** Runs one update at a time; a call during an update shares its outcome. */
  #bringUpToDate(maxAgeMs: number): Promise<void> {
    this.#update ??= this.#makeFiles(maxAgeMs).finally(() => {
      this.#update = undefined
    })
    return this.#update
  }

  async #makeFiles(maxAgeMs: number): Promise<void> {
    const pod = this.#pod
    const volumes = mountedVolumes(pod)
    const objects = await this.#readObjects(pod, volumes, maxAgeMs)
    const fetched = { objects, tokens: await this.#holdTokens(pod, volumes) }
    const planned = new Map(volumes.map((volume) => [volume.name, planFiles(pod, volume, fetched)]))
    refuseTooMuch([...planned.values()])
    if (this.#isOver) return
    this.#writing = this.#writeAll(planned, ownerOf(pod).group)
    await this.#writing
    this.#isMade = true
    this.#isKept = true
    this.#backoff.reset()
    const dueMs = this.#pod === pod ? this.#dueMs(volumes) : 0
    if (dueMs !== undefined) this.#schedule(dueMs)
  }

  async #writeAll(
    planned: ReadonlyMap<string, ReadonlyMap<string, VolumeFile>>,
    group: number | undefined,
  ): Promise<void> {
    await makePrivate(this.#parts.folder)
    for (const [name, files] of planned) await this.#writeVolume(name, files, group)
  }

  async #writeVolume(name: string, files: ReadonlyMap<string, VolumeFile>, group: number | undefined): Promise<void> {
    const digest = digestOf(files)
    if (this.#written.get(name) === digest) return
    await writeAtomically(join(this.#parts.folder, name), files, group)
    this.#written.set(name, digest)
  }

  async #readObjects(pod: PodSpec, volumes: readonly FilesVolume[], maxAgeMs: number) {
    const objects = new Map<string, DataObject | undefined>()
    for (const source of volumes.flatMap(({ sources }) => sources)) {
      if (source.kind !== 'object' || objects.has(objectKeyOf(source))) continue
      const { resource, name } = source
      objects.set(
        objectKeyOf(source),
        await this.#parts.objects.read({ resource, namespace: pod.namespace, name }, maxAgeMs),
      )
    }
    return objects
  }

  async #holdTokens(pod: PodSpec, volumes: readonly FilesVolume[]): Promise<ReadonlyMap<string, string>> {
    const sources = volumes.flatMap((volume) => volume.sources).filter((source) => source.kind === 'token')
    const held = new Map<string, string>()
    for (const source of sources) held.set(tokenKey(source), await this.#holdToken(pod, source))
    return held
  }

  /** Keeps the current token when the renewal fails, until it expires. */
  async #holdToken(pod: PodSpec, source: TokenSource): Promise<string> {
    const key = tokenKey(source)
    const held = this.#tokens.get(key)
    const nowMs = Date.now()
    if (held !== undefined && nowMs < held.renewAtMs) return held.token
    try {
      const { token, seconds } = await this.#parts.api.requestToken(pod, source)
      const renewAtMs = nowMs + renewalMs(seconds, Math.random())
      this.#tokens.set(key, { token, renewAtMs, endsAtMs: nowMs + seconds * 1000 })
      return token
    } catch (error) {
      if (held === undefined || nowMs >= held.endsAtMs) throw error
      this.#parts.onTrouble(pod, error)
      this.#tokens.set(key, { ...held, renewAtMs: nowMs + this.#backoff.nextDelayMs() })
      return held.token
    }
  }

  /** The time until the next update; undefined if no source changes by itself. */
  #dueMs(volumes: readonly FilesVolume[]): number | undefined {
    const renewals = this.#tokens.values().map(({ renewAtMs }) => Math.max(0, renewAtMs - Date.now()))
    const hasObjects = volumes.some(({ sources }) => sources.some(({ kind }) => kind === 'object'))
    const all = [...renewals, ...(hasObjects ? [freshMs * (1 + Math.random() / 2)] : [])]
    return all.length === 0 ? undefined : Math.min(...all)
  }
}

/** The volumes that a container of the pod mounts and this node makes. */
export function mountedVolumes({ spec }: PodSpec): readonly FilesVolume[] {
  const containers = [...spec.initContainers, ...spec.containers]
  const mounted = new Set(containers.flatMap(({ volumeMounts }) => volumeMounts.map(({ name }) => name)))
  return spec.volumes.filter((volume) => volume.kind === 'files').filter(({ name }) => mounted.has(name))
}

function refuseTooMuch(volumes: readonly ReadonlyMap<string, VolumeFile>[]): void {
  const all = volumes.flatMap((files) => [...files.values()])
  const bytes = all.reduce((sum, { data }) => sum + data.length, 0)
  if (bytes <= maxBytes && all.length <= maxFiles) return
  const message = `the pod's volumes have ${all.length} files of ${bytes} bytes: at most ${maxFiles} files of ${maxBytes} bytes are made`
  throw new PodError('volume-failed', message)
}

/** Closes the path to all but the root; containers get mounts. */
async function makePrivate(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
}

function digestOf(files: ReadonlyMap<string, VolumeFile>): string {
  const hash = createHash('sha256')
  for (const [path, { data, mode, uid }] of files)
    hash.update(JSON.stringify([path, mode, uid, data.length])).update(data)
  return hash.digest('hex')
}

function isEqual(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key])
}
