import type { LoadReport } from './load-report.ts'

/** The action of a step, its result, and whether that is the promised one. */
export interface Finding {
  readonly tried: string
  readonly seen: string
  readonly held: boolean
}

/** Pearson's chi-square of equal shares: 0 is perfectly even. */
export function chiSquareOfEqualShares(counts: readonly number[]): number {
  const expected = counts.reduce((sum, count) => sum + count, 0) / counts.length
  return counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
}

/** `web-1 104, web-2 97`: names with their counts, in the order of the names. */
export function describeCounts(counts: Readonly<Record<string, number>>): string {
  const entries = Object.entries(counts).toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
  return entries.map(([name, count]) => `${name} ${count}`).join(', ') || 'none'
}

/** Answers by kind of connection, failures by reason, latency. */
export function describeLoad(report: LoadReport): string {
  const { ok, failed, failures, answersPerSecond, latencyMs } = report
  const why = failed === 0 ? '' : ` (${describeCounts(failures)})`
  return `${ok.keepAlive} keep-alive and ${ok.short} short answered, ${Math.round(answersPerSecond)}/s, ${failed} failed${why}, p99 ${latencyMs.p99} ms`
}

/** The load was what the demo promises and nothing of it failed. */
export function isUndisturbed(report: LoadReport): boolean {
  return report.failed === 0 && report.answersPerSecond >= 1000 && report.ok.keepAlive > 0 && report.ok.short > 0
}
