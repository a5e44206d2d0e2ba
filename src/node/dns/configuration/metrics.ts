import type { MetricSpec } from '../../../model/metric-spec.ts'
import type { Series } from '../metrics/series.ts'
import { type HostsEntries, hostsSeries } from '../plugins/hosts/metrics.ts'
import { pluginMetrics } from '../plugins/metric-specs.ts'
import { reloadSeries } from '../plugins/reload/metrics.ts'
import type { Corefile, ServerBlock } from '../plugins/server-block.ts'
import { nameText } from '../wire/name.ts'
import { serverLabel } from './server-plan.ts'

/** Declares every metric of DNS. Metrics of CoreDNS' names mean what they mean there. */
export const dnsMetrics: readonly MetricSpec[] = [
  ...pluginMetrics,
  {
    type: 'gauge',
    name: 'coredns_build_info',
    help: 'The version of this program.',
    labels: { version: 'machine', revision: 'machine', goversion: 'machine' },
  },
  {
    type: 'gauge',
    name: 'coredns_plugin_enabled',
    help: 'The plugins of each server block that take part in answers.',
    labels: { server: 'configuration', zone: 'configuration', view: [''], name: 'configuration' },
  },
  {
    type: 'counter',
    name: 'coredns_panics_total',
    help: 'Questions at which this program failed; they were answered with SERVFAIL.',
  },
  {
    type: 'counter',
    name: 'platnet_dns_dropped_datagrams_total',
    help: 'Queries without an answer, because the thread that forwards was behind by a mebibyte of them.',
  },
]

/** The configuration in effect, as metrics show it. */
export interface ConfiguredDns {
  readonly corefile: Corefile
  /** All text that the configuration was read from. */
  readonly text: string
  readonly hostsEntries: HostsEntries
  readonly atMs: number
  /** How many Corefiles could not be used. */
  readonly failedReloads: number
}

type IsEnabled = (block: ServerBlock) => boolean

/** The plugins that take part in answers. */
const plugins: Readonly<Record<string, IsEnabled>> = {
  cache: ({ cache }) => cache !== undefined,
  errors: ({ errors }) => errors !== undefined,
  forward: ({ forward }) => forward.length > 0,
  hosts: ({ hosts }) => hosts !== undefined,
  kubernetes: ({ kubernetes }) => kubernetes !== undefined,
  loadbalance: ({ loadbalance }) => loadbalance !== undefined,
  log: ({ log }) => log.length > 0,
  loop: ({ loop }) => loop,
  prometheus: ({ prometheus }) => prometheus !== undefined,
  rewrite: ({ rewrite }) => rewrite.length > 0,
  template: ({ template }) => template.length > 0,
}

/** Yields what the metrics show of a configuration. */
export function* configurationSeries(configured: ConfiguredDns): Iterable<Series> {
  const { corefile, text, failedReloads } = configured
  const version = { version: 'platnet', revision: '', goversion: `node ${process.versions.node}` }
  yield { kind: 'gauge', name: 'coredns_build_info', labels: version, value: 1 }
  const hasReload = corefile.blocks.some(({ reload }) => reload !== undefined)
  yield* reloadSeries(failedReloads, text, hasReload)
  for (const block of corefile.blocks) yield* enabledSeries(block)
  yield* hostsSeries(configured.hostsEntries, configured.atMs)
}

function* enabledSeries(block: ServerBlock): Iterable<Series> {
  const names = Object.entries(plugins).flatMap(([name, isEnabled]) => (isEnabled(block) ? [name] : []))
  for (const { zone, port } of block.keys) {
    const labels = { server: serverLabel(block, port), zone: nameText(zone), view: '' }
    for (const name of names)
      yield { kind: 'gauge', name: 'coredns_plugin_enabled', labels: { ...labels, name }, value: 1 }
  }
}
