/** Checks that a path does not leave its base folder. */
export function withoutBacksteps(path: string): string | undefined {
  return path.split('/').includes('..') ? "must not contain '..'" : undefined
}

/** Checks a path below a folder: relative, without `..`. */
export function descendingPath(path: string): string | undefined {
  return path.startsWith('/') ? 'must be a relative path' : withoutBacksteps(path)
}

/** Checks a path below a volume, where names that begin with `..` are reserved for the kubelet. */
export function unreservedPath(path: string): string | undefined {
  return descendingPath(path) ?? (path.startsWith('..') ? "must not start with '..'" : undefined)
}
