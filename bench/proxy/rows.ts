import { type BenchRow, compare, measureAlone } from '../report.ts'
import type { Size } from './cluster.ts'
import type { Figures, Outcome } from './measure.ts'

const metrics: readonly (readonly [key: keyof Figures, metric: string, unit: string])[] = [
  ['firstSyncMs', 'first full sync, start to the last Service', 'ms'],
  ['firstPacketP50Us', 'connect() to a Service, p50', 'µs'],
  ['firstPacketP99Us', 'connect() to a Service, p99', 'µs'],
  ['failedConnects', 'connect() not answered within 30 ms, of 10,000', ''],
  ['changeP50Ms', 'one endpoint replaced, API answer to packet, p50', 'ms'],
  ['changeP99Ms', 'one endpoint replaced, API answer to packet, p99', 'ms'],
  ['removalP50Ms', 'one endpoint gone, API answer to its last packet, p50', 'ms'],
  ['removalP99Ms', 'one endpoint gone, API answer to its last packet, p99', 'ms'],
  ['additionP50Ms', 'one endpoint more, API answer to packet, p50', 'ms'],
  ['additionP99Ms', 'one endpoint more, API answer to packet, p99', 'ms'],
  ['bareWriteP50Ms', 'of it the write alone (elements; iptables-restore of one chain), p50', 'ms'],
  ['bareWriteP99Ms', 'of it the write alone (elements; iptables-restore of one chain), p99', 'ms'],
  ['steadyPerSecond', 'steady changes: made each second', ''],
  ['steadyLagP50Ms', 'steady changes: API answer to packet, p50', 'ms'],
  ['steadyLagP99Ms', 'steady changes: API answer to packet, p99', 'ms'],
  ['steadyLost', 'steady changes: Services that do not follow 5 s after the last', ''],
  ['steadyCpuPercent', 'steady changes: CPU', '% of a core'],
  ['kernelMiB', 'kernel memory (unreclaimable slab) by the first sync', 'MiB'],
  ['residentMiB', 'resident memory', 'MiB'],
  ['idleCpuPercent', 'CPU while nothing changes', '% of a core'],
  ['restartMs', 'restart with rules in place, to ready', 'ms'],
  ['restartCommits', 'restart with rules in place: commits to the kernel', ''],
]

/** A row for each figure of ours and each peer that has it too, ours alone where none has. What was given up has a row that says why. */
export function reportRows(size: Size, outcomes: ReadonlyMap<string, Outcome>): BenchRow[] {
  const title = (text: string) => `${size.services} x ${size.endpoints}: ${text}`
  const failures = [...outcomes].flatMap(([name, { failure }]) =>
    failure === undefined ? [] : [measureAlone(title(`${name} was given up: ${failure}`), '', Number.NaN)],
  )
  const [ours, ...peers] = [...outcomes]
  const rows = metrics.flatMap(([key, metric, unit]) => {
    const own = ours?.[1].figures[key]
    if (own === undefined) return []
    const beside = peers.flatMap(([name, { figures }]) => {
      const theirs = figures[key]
      return theirs === undefined ? [] : [compare(title(metric), unit, own, name, theirs)]
    })
    return beside.length === 0 ? [measureAlone(title(metric), unit, own)] : beside
  })
  return [...failures, ...rows]
}
