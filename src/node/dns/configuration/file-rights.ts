import { FileError, readRegularFile } from '../../../host/index.ts'
import { CorefileError } from '../corefile/errors.ts'
import type { NamedFile } from './named-files.ts'

/** Which files a Corefile may name: any where the node's operator wrote it, few where it comes from the API. */
export interface FileRights {
  /** Paths of this node; undefined is any. */
  readonly allowed: ReadonlySet<string> | undefined
  /** Texts that come along with the Corefile, by the path that they have for CoreDNS. */
  readonly carried: ReadonlyMap<string, string>
}

/** The node's own resolver file is what the usual Corefile forwards to. It says no more than whom the node asks. */
const nodeResolverFile = '/etc/resolv.conf'

/** What a ConfigMap is refused with. */
export const namesNoFile = 'a ConfigMap may name only those files of the node that --dns-config-map-files lists'

const mebibyte = 1024 * 1024
const maxBytes: Readonly<Record<NamedFile['kind'], number>> = {
  hosts: 8 * mebibyte,
  weights: mebibyte,
  resolver: mebibyte,
  pem: mebibyte,
}

/** Throws CorefileError for the first file that may not be named. */
export function checkRights(files: readonly NamedFile[], rights: FileRights): void {
  for (const file of files) {
    if (file.isDefault || mayRead(file, rights)) continue
    throw faultOf(file, namesNoFile)
  }
}

/** The file's text; undefined where there is none. Throws CorefileError where it cannot be read. */
export async function readNamedFile(file: NamedFile, rights: FileRights): Promise<string | undefined> {
  const carried = rights.carried.get(file.path)
  if (carried !== undefined) return carried
  if (!mayRead(file, rights)) return undefined
  try {
    return (await readRegularFile(file.path, maxBytes[file.kind])).toString()
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
