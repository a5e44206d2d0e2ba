/** Suggests a known name: one that differs only in case, `-` and `_`, else the nearest within a few edits. */
export function suggestName(name: string, known: readonly string[]): string | undefined {
  const plain = (text: string) => text.replaceAll(/[-_]/g, '').toLowerCase()
  const ranked = known
    .map((candidate) => ({ candidate, distance: editDistance(plain(name), plain(candidate)) }))
    .sort((a, b) => a.distance - b.distance)
  const [best] = ranked
  return best !== undefined && best.distance <= Math.max(2, name.length / 3) ? best.candidate : undefined
}

/** Computes the Levenshtein distance (insertions, deletions, replacements). Long texts are not compared, because they are no typing mistakes. */
function editDistance(a: string, b: string): number {
  if (Math.max(a.length, b.length) > 64) return Number.POSITIVE_INFINITY
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (const [at, char] of [...a].entries()) {
    const next = [at + 1]
    for (const [index, other] of [...b].entries()) {
      const replaced = (row[index] ?? 0) + (char === other ? 0 : 1)
      next.push(Math.min(replaced, (row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
