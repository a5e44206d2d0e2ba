import type { MetricSpec } from '../../../../model/metric-spec.ts'
import type { Series } from '../../metrics/series.ts'
import { HostsAnswers } from './hosts-answers.ts'
import type { HostsSettings } from './settings.ts'

/** The metrics of `hosts`. */
export const hostsMetrics: readonly MetricSpec[] = [
  {
    type: 'gauge',
    name: 'coredns_hosts_entries',
    help: 'Answers of hosts, by name and by address.',
    labels: { hostsfile: 'configuration' },
  },
  {
    type: 'gauge',
    name: 'coredns_hosts_reload_timestamp_seconds',
    help: 'When hosts was last read.',
  },
]

/** Returns how many answers each hosts file gives. */
export type HostsEntries = () => ReadonlyMap<string, number>

/** Counts on the first call: a file may hold 100,000 names, and is the same until the next reload. */
export function hostsEntries(plugins: readonly HostsSettings[], hostsTexts: ReadonlyMap<string, string>): HostsEntries {
  let counted: ReadonlyMap<string, number> | undefined
  return () => {
    counted ??= new Map(
      plugins.map((hosts) => [hosts.file, new HostsAnswers(hosts, hostsTexts.get(hosts.file) ?? '').size] as const),
    )
    return counted
  }
}

export function* hostsSeries(entries: HostsEntries, readAtMs: number): Iterable<Series> {
  const counted = entries()
  for (const [hostsfile, value] of counted)
    yield { kind: 'gauge', name: 'coredns_hosts_entries', labels: { hostsfile }, value }
  if (counted.size === 0) return
  yield { kind: 'gauge', name: 'coredns_hosts_reload_timestamp_seconds', labels: {}, value: readAtMs / 1000 }
}
