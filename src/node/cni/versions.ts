/** What we speak, oldest first. 0.3.x is not asked for by anyone who wrote a list since 2019, but many lists still say it. */
export const knownVersions: readonly string[] = ['0.3.0', '0.3.1', '0.4.0', '1.0.0', '1.1.0']

/** What came with which version of the specification. */
export const since = {
  check: '0.4.0',
  previousResultOnDelete: '0.4.0',
  plainAddresses: '1.0.0',
  status: '1.1.0',
  gc: '1.1.0',
} as const

export function isAtLeast(version: string, other: string): boolean {
  return knownVersions.indexOf(version) >= knownVersions.indexOf(other)
}

/** The newest version that the list declares, every plugin speaks and we know; undefined where there is none. */
export function negotiateVersion(
  declared: readonly string[],
  spoken: readonly (readonly string[])[],
): string | undefined {
  return knownVersions.findLast((version) => declared.includes(version) && spoken.every((one) => one.includes(version)))
}
