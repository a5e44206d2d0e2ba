import { createHash } from 'node:crypto'
import type { Series } from '../metrics/series.ts'
import { HostsAnswers } from '../plugins/hosts/hosts-answers.ts'
import type { Corefile, ServerBlock } from '../plugins/server-block.ts'
import { nameText } from '../wire/name.ts'
import { serverLabel } from './server-plan.ts'

/** What was put into effect, and when. */
export interface ConfiguredDns {
  readonly corefile: Corefile
  /** All text that it was read from. */
  readonly text: string
  readonly hostsEntries: HostsEntries
  readonly atMs: number
  /** How many Corefiles could not be used. */
  readonly failedReloads: number
}

/** How many answers the hosts files give, by file. */
export type HostsEntries = () => ReadonlyMap<string, number>

/** Counts when it is asked for the first time: a file may hold 100,000 names, and is the same until the next reload. */
export function hostsEntries(corefile: Corefile, hostsTexts: ReadonlyMap<string, string>): HostsEntries {
  let counted: ReadonlyMap<string, number> | undefined
  return () => {
    counted ??= new Map(
      corefile.blocks.flatMap(({ hosts }) =>
        hosts === undefined
          ? []
          : [[hosts.file, new HostsAnswers(hosts, hostsTexts.get(hosts.file) ?? '').size] as const],
      ),
    )
    return counted
  }
}

type Enabled = (block: ServerBlock) => boolean

/** The plugins that take part in answers. */
const plugins: Readonly<Record<string, Enabled>> = {
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

/** What metrics say of a configuration, under CoreDNS' names. */
export function* configurationSeries(configured: ConfiguredDns): Iterable<Series> {
  const { corefile, text, failedReloads } = configured
  const version = { version: 'platnet', revision: '', goversion: `node ${process.versions.node}` }
  yield gauge('coredns_build_info', 1, version)
  yield { kind: 'counter', name: 'coredns_reload_failed_total', labels: {}, value: failedReloads }
  if (corefile.blocks.some(({ reload }) => reload !== undefined)) {
    const value = createHash('sha512').update(text).digest('hex')
    yield gauge('coredns_reload_version_info', 1, { hash: 'sha512', value })
  }
  for (const block of corefile.blocks) yield* enabledSeries(block)
  yield* hostsSeries(configured)
}

function* enabledSeries(block: ServerBlock): Iterable<Series> {
  const names = Object.entries(plugins).flatMap(([name, isEnabled]) => (isEnabled(block) ? [name] : []))
  for (const { zone, port } of block.keys) {
    const labels = { server: serverLabel(block, port), zone: nameText(zone), view: '' }
    for (const name of names) yield gauge('coredns_plugin_enabled', 1, { ...labels, name })
  }
}

function* hostsSeries({ hostsEntries: entries, atMs }: ConfiguredDns): Iterable<Series> {
  const counted = entries()
  for (const [hostsfile, size] of counted) yield gauge('coredns_hosts_entries', size, { hostsfile })
  if (counted.size > 0) yield gauge('coredns_hosts_reload_timestamp_seconds', atMs / 1000, {})
}

function gauge(name: string, value: number, labels: Readonly<Record<string, string>>): Series {
  return { kind: 'gauge', name, labels, value }
}
