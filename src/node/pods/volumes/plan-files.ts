import { PodError } from '../errors.ts'
import type { PodSpec } from '../pod-spec.ts'
import type { FileSource, FilesVolume } from './volume-spec.ts'

/** A file of a volume; its mode and owner are those that a kubelet gives it. */
export interface VolumeFile {
  readonly data: Buffer
  readonly mode: number
  readonly uid: number
}

/** The decoded data of a ConfigMap or a Secret. */
export type DataObject = ReadonlyMap<string, Buffer>

/** The fetched sources of the files, beside the pod itself. */
export interface Fetched {
  /** Objects by `configmaps/NAME` and `secrets/NAME`; undefined for one that does not exist. */
  readonly objects: ReadonlyMap<string, DataObject | undefined>
  /** Tokens by `tokenKey`. */
  readonly tokens: ReadonlyMap<string, string>
}

/** The owner of the files; root if both are undefined. */
export interface VolumeOwner {
  /** The user of all containers, if they have the same one. */
  readonly user: number | undefined
  /** `fsGroup`: may read every file. */
  readonly group: number | undefined
}

export type TokenSource = Extract<FileSource, { kind: 'token' }>

/** Tokens of equal sources are one. */
export function tokenKey({ audience, seconds }: TokenSource): string {
  return `${seconds} ${audience}`
}

export function objectKeyOf({ resource, name }: Extract<FileSource, { kind: 'object' }>): string {
  return `${resource}/${name}`
}

const maxPathLength = 4096
const maxNameLength = 255
const ownerOnly = 0o600
const groupReads = 0o440

export function ownerOf({ spec }: PodSpec): VolumeOwner {
  const users = [...spec.initContainers, ...spec.containers].map(
    ({ securityContext }) => securityContext.runAsUser ?? spec.securityContext.runAsUser ?? undefined,
  )
  const [first] = users
  const user = users.every((each) => each === first) ? first : undefined
  return { user, group: spec.securityContext.fsGroup ?? undefined }
}

/** The files of a volume by their paths in it. Throws PodError `volume-failed`. Pure. */
export function planFiles(pod: PodSpec, volume: FilesVolume, fetched: Fetched): ReadonlyMap<string, VolumeFile> {
  const owner = ownerOf(pod)
  try {
    const all = volume.sources.flatMap((source) => filesOf(pod, source, fetched))
    const files = new Map(all.map((file) => [checkPath(file.path), ownedFile(file, volume.defaultMode, owner)]))
    refuseFilesAsFolders(files)
    return files
  } catch (thrown) {
    if (!(thrown instanceof TypeError)) throw thrown
    throw new PodError('volume-failed', `MountVolume.SetUp failed for volume "${volume.name}" : ${thrown.message}`)
  }
}

/** A token is its user's alone where there is one; the group may read everything. */
function ownedFile({ data, mode, isToken = false }: PlannedFile, defaultMode: number, owner: VolumeOwner): VolumeFile {
  const isPrivate = isToken && (owner.user !== undefined || owner.group !== undefined)
  const own = isPrivate ? ownerOnly : (mode ?? defaultMode)
  return { data, mode: owner.group === undefined ? own : own | groupReads, uid: isToken ? (owner.user ?? 0) : 0 }
}

interface PlannedFile {
  readonly path: string
  readonly data: Buffer
  readonly mode?: number | null | undefined
  readonly isToken?: boolean
}

function filesOf(pod: PodSpec, source: FileSource, fetched: Fetched): readonly PlannedFile[] {
  if (source.kind === 'fields')
    return source.items.map(({ path, mode, fieldRef }) => {
      return { path, mode, data: Buffer.from(readField(pod, fieldRef?.fieldPath ?? '')) }
    })
  if (source.kind === 'object') return filesOfObject(source, fetched)
  const token = fetched.tokens.get(tokenKey(source)) ?? ''
  return [{ path: source.path, data: Buffer.from(token), isToken: true }]
}

function filesOfObject(source: Extract<FileSource, { kind: 'object' }>, { objects }: Fetched): readonly PlannedFile[] {
  const kind = source.resource === 'secrets' ? 'secret' : 'configmap'
  const found = objects.get(objectKeyOf(source))
  if (found === undefined && !source.isOptional) throw new TypeError(`${kind} "${source.name}" not found`)
  const data: DataObject = found ?? new Map()
  if (source.items.length === 0) return Array.from(data, ([path, bytes]) => ({ path, data: bytes }))
  return source.items.flatMap(({ key, path, mode }) => {
    const bytes = data.get(key)
    if (bytes !== undefined) return [{ path, mode, data: bytes }]
    if (source.isOptional) return []
    const whose =
      kind === 'secret' ? 'references non-existent secret key' : 'configmap references non-existent config key'
    throw new TypeError(`${whose}: ${key}`)
  })
}

/** Repeats the check of the API server: a path must not leave its volume or use the names of an atomic write. */
function checkPath(path: string): string {
  const names = path.split('/').filter((name) => name !== '' && name !== '.')
  const isPlain = names.length > 0 && !path.startsWith('/') && !names.includes('..') && !names[0]?.startsWith('..')
  const isShort = path.length <= maxPathLength && names.every((name) => Buffer.byteLength(name) <= maxNameLength)
  if (!isPlain || !isShort || path.includes('\0'))
    throw new TypeError(`invalid path: ${JSON.stringify(path.slice(0, 100))}`)
  return names.join('/')
}

function refuseFilesAsFolders(files: ReadonlyMap<string, VolumeFile>): void {
  for (const path of files.keys()) {
    const names = path.split('/')
    const around = names.slice(1).map((_, index) => names.slice(0, index + 1).join('/'))
    const both = around.find((folder) => files.has(folder))
    if (both !== undefined) throw new TypeError(`invalid path: ${both} is a file and a folder`)
  }
}

function readField({ namespace, name, uid, labels, annotations }: PodSpec, path: string): string {
  const [, map, key = ''] = /^metadata\.(labels|annotations)\['([^']+)'\]$/.exec(path) ?? []
  if (map !== undefined) return (map === 'labels' ? labels : annotations)[key] ?? ''
  const known: Readonly<Record<string, string>> = {
    'metadata.name': name,
    'metadata.namespace': namespace,
    'metadata.uid': uid,
    'metadata.labels': formatMap(labels),
    'metadata.annotations': formatMap(annotations),
  }
  const value = Object.hasOwn(known, path) ? known[path] : undefined
  if (value === undefined) throw new TypeError(`unsupported fieldPath: ${path}`)
  return value
}

/** A line each, in the order of the keys, as the downward API writes them. */
function formatMap(map: Readonly<Record<string, string>>): string {
  const keys = Object.keys(map).toSorted()
  return keys.map((key) => `${key}=${quote(map[key] ?? '')}`).join('\n')
}

/** In the manner of Go, which differs from JSON in what cannot be printed. */
function quote(text: string): string {
  const special: Readonly<Record<string, string>> = { '\\u0007': '\\a', '\\u000b': '\\v' }
  const escaped = JSON.stringify(text).replaceAll('\x7f', '\\u007f')
  return escaped.replaceAll(
    /(?<!\\)((?:\\\\)*)(\\u00([01][0-9a-f]|7f))/g,
    (_, before: string, all: string, hex: string) => {
      return `${before}${special[all] ?? `\\x${hex}`}`
    },
  )
}
