/** One measured quantity beside the peer's in the same run; `ratio` is ours / peer. */
export interface BenchRow {
  readonly metric: string
  readonly unit: string
  readonly ours: number
  readonly peer: number | null
  readonly peerName: string | null
  readonly ratio: number | null
}

export interface BenchReport {
  readonly name: string
  readonly rows: readonly BenchRow[]
}

export function compare(metric: string, unit: string, ours: number, peerName: string, peer: number): BenchRow {
  const ratio = peer === 0 ? null : round(ours / peer)
  return { metric, unit, ours: round(ours), peer: round(peer), peerName, ratio }
}

export function measureAlone(metric: string, unit: string, ours: number): BenchRow {
  return { metric, unit, ours: round(ours), peer: null, peerName: null, ratio: null }
}

/** One quantity of one program. */
export interface Figure {
  readonly metric: string
  readonly unit: string
  readonly value: number
}

/** Our figures beside those of the peer with the same metrics. */
export function compareFigures(ours: readonly Figure[], peer: readonly Figure[], peerName: string): BenchRow[] {
  return ours.map(({ metric, unit, value }) => {
    const theirs = peer.find((figure) => figure.metric === metric)
    return theirs === undefined
      ? measureAlone(metric, unit, value)
      : compare(metric, unit, value, peerName, theirs.value)
  })
}

export function printTable(report: BenchReport): void {
  console.log(`| ${report.name} | unit | ours | peer | peer name | ratio |\n|---|---|---|---|---|---|`)
  for (const row of report.rows) {
    const cells = [row.metric, row.unit, row.ours, row.peer ?? '–', row.peerName ?? '–', row.ratio ?? '–']
    console.log(`| ${cells.join(' | ')} |`)
  }
}

/** The value below which the given share (0 to 1) of the sample lies. */
export function percentile(sample: readonly number[], share: number): number {
  const sorted = [...sample].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** The rows of a sample in milliseconds that has no peer: p50 and p99. */
export function medianAndTail(metric: string, sample: readonly number[]): BenchRow[] {
  return [0.5, 0.99].map((share) => measureAlone(`${metric}, p${100 * share}`, 'ms', percentile(sample, share)))
}

/** Says on standard error how far a bench is. */
export function progress(line: string): void {
  console.error(`${(performance.now() / 1000).toFixed(1)} s: ${line}`)
}

function round(value: number): number {
  return Number(value.toPrecision(4))
}
