import { FileError, type KeptFiles } from '../../../host/index.ts'
import { CorefileError } from '../corefile/errors.ts'
import type { NamedFile } from './named-files.ts'

/** The files that a Corefile may name: any where the node's operator wrote it, few where it comes from the API. */
export interface FileRights {
  /** The allowed paths of this node; undefined allows any. */
  readonly allowed: ReadonlySet<string> | undefined
  /** The texts that come with the Corefile, by the path that they have for CoreDNS. */
  readonly carried: ReadonlyMap<string, string>
}

/** The node's own resolver file, which the usual Corefile forwards to. It only says which servers the node asks. */
const nodeResolverFile = '/etc/resolv.conf'

/** The reason for which a file of a ConfigMap is refused. */
export const namesNoFile = 'a ConfigMap may name only those files of the node that --dns-config-map-files lists'

const mebibyte = 1024 * 1024
const maxBytes: Readonly<Record<NamedFile['kind'], number>> = {
  hosts: 8 * mebibyte,
  weights: mebibyte,
  resolver: mebibyte,
  pem: mebibyte,
}

/** Checks every file. Throws CorefileError for the first that may not be named. */
export function checkRights(files: readonly NamedFile[], rights: FileRights): void {
  for (const file of files) {
    if (file.isDefault || mayRead(file, rights)) continue
    throw faultOf(file, namesNoFile)
  }
}

/** Returns the text of a file; undefined where it does not exist. Throws CorefileError where it cannot be read. */
export async function readNamedFile(
  file: NamedFile,
  rights: FileRights,
  files: KeptFiles,
): Promise<string | undefined> {
  const carried = rights.carried.get(file.path)
  if (carried !== undefined) return carried
  if (!mayRead(file, rights)) return undefined
  try {
    return (await files.read(file.path, maxBytes[file.kind])).toString()
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    if (error.code === 'missing' && file.kind !== 'pem') return undefined
    throw faultOf(file, error.message, error)
  }
}

function mayRead({ path, kind }: NamedFile, { allowed, carried }: FileRights): boolean {
  if (allowed === undefined || allowed.has(path) || carried.has(path)) return true
  return kind === 'resolver' && path === nodeResolverFile
}

function faultOf({ path, plugin, location }: NamedFile, why: string, cause?: unknown): CorefileError {
  const text = why.includes(path) ? why : `${path}: ${why}`
  return new CorefileError('file', location, `${plugin}: ${text}`, { cause })
}
