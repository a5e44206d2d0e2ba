/** Returns the wanted keys in their order; each other present key stays before the named key that followed it. */
export function interleave(present: readonly string[], wanted: readonly string[]): readonly string[] {
  const named = new Set(wanted)
  const places = new Map(present.map((key, index) => [key, index]))
  const ordered: string[] = []
  let cursor = 0
  const takeUnnamed = (end: number) => {
    for (; cursor < end; cursor++) {
      const key = present[cursor]
      if (key !== undefined && !named.has(key)) ordered.push(key)
    }
  }
  for (const key of named) {
    takeUnnamed(places.get(key) ?? 0)
    ordered.push(key)
  }
  takeUnnamed(present.length)
  return ordered
}
