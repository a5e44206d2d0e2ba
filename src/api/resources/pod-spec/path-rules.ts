/** A path must not leave the folder that it is taken from. */
export function withoutBacksteps(path: string): string | undefined {
  return path.split('/').includes('..') ? "must not contain '..'" : undefined
}

/** A path below a folder: relative, without `..`. */
export function descendingPath(path: string): string | undefined {
  return path.startsWith('/') ? 'must be a relative path' : withoutBacksteps(path)
}

/** A path below a volume, where names that begin with `..` belong to the kubelet. */
export function unreservedPath(path: string): string | undefined {
  return descendingPath(path) ?? (path.startsWith('..') ? "must not start with '..'" : undefined)
}
