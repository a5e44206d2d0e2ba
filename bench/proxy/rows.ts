import { type BenchRow, compare, measureAlone } from '../report.ts'
import type { Size } from './cluster.ts'
import type { Figures } from './measure.ts'

const metrics: readonly (readonly [key: keyof Figures, metric: string, unit: string])[] = [
  ['firstSyncMs', 'first full sync, start to the last Service', 'ms'],
  ['changeP50Ms', 'one endpoint, API answer to packet, p50', 'ms'],
  ['changeP99Ms', 'one endpoint, API answer to packet, p99', 'ms'],
  ['firstPacketP50Us', 'connect() to a Service, p50', 'µs'],
  ['firstPacketP99Us', 'connect() to a Service, p99', 'µs'],
  ['failedConnects', 'connect() not answered within 30 ms, of 3,000', ''],
  ['residentMiB', 'resident memory', 'MiB'],
  ['idleCpuPercent', 'CPU while nothing changes', '% of a core'],
  ['restartMs', 'restart with rules in place, to ready', 'ms'],
]

/** What one proxy showed, or why it showed nothing. */
export type Outcome = { readonly figures: Figures } | { readonly failure: string }

/** A row for each figure and peer; without a peer ours stand alone. What failed has a row that says why. */
export function reportRows(size: Size, outcomes: ReadonlyMap<string, Outcome>): BenchRow[] {
  const title = (text: string) => `${size.services} x ${size.endpoints}: ${text}`
  const failures = [...outcomes].flatMap(([name, outcome]) =>
    'failure' in outcome ? [measureAlone(title(`${name} failed: ${outcome.failure}`), '', Number.NaN)] : [],
  )
  const measured = [...outcomes].flatMap(([name, outcome]) =>
    'figures' in outcome ? [{ name, figures: outcome.figures }] : [],
  )
  const [ours, ...peers] = measured
  if (ours === undefined || ours.name !== [...outcomes.keys()][0]) return failures
  const rows = metrics.flatMap(([key, metric, unit]) => {
    if (peers.length === 0) return [measureAlone(title(metric), unit, ours.figures[key])]
    return peers.map(({ name, figures }) => compare(title(metric), unit, ours.figures[key], name, figures[key]))
  })
  return [...failures, ...rows]
}
