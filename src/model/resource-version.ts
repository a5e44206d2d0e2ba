/** Matches a resourceVersion: decimal, no leading zero, any length. */
export function isResourceVersion(text: string): boolean {
  return /^(0|[1-9]\d*)$/.test(text)
}

/** Compares two resourceVersions: negative, zero or positive. It compares digits, so their length has no limit. */
export function compareResourceVersions(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length
  if (a === b) return 0
  return a < b ? -1 : 1
}
