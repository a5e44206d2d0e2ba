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

/** A row for each figure and peer; without a peer ours stand alone. */
export function reportRows(size: Size, figures: ReadonlyMap<string, Figures>): BenchRow[] {
  const [ours, ...peers] = figures
  if (!ours) return []
  return metrics.flatMap(([key, metric, unit]) => {
    const title = `${size.services} x ${size.endpoints}: ${metric}`
    if (peers.length === 0) return [measureAlone(title, unit, ours[1][key])]
    return peers.map(([peerName, peer]) => compare(title, unit, ours[1][key], peerName, peer[key]))
  })
}
