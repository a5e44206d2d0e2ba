/** Supported versions, oldest first. 0.3.x is here because many lists from before 2019 still name it. */
export const knownVersions: readonly string[] = ['0.3.0', '0.3.1', '0.4.0', '1.0.0', '1.1.0']

/** The version of the specification that introduced each operation. */
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

/** Chooses the newest version that the list declares, every plugin supports and this runtime supports; undefined if there is none. */
export function negotiateVersion(
  declared: readonly string[],
  spoken: readonly (readonly string[])[],
): string | undefined {
  return knownVersions.findLast((version) => declared.includes(version) && spoken.every((one) => one.includes(version)))
}
