import { createHash } from 'node:crypto'
import { serverLabel } from '../configuration/server-plan.ts'
import type { Corefile, ServerBlock } from '../corefile/settings.ts'
import { HostsAnswers } from '../plugins/hosts.ts'
import { nameText } from '../wire/name.ts'
import type { Series } from './series.ts'

/** What was put into effect, and when. */
export interface ConfiguredDns {
  readonly corefile: Corefile
  /** All text that it was read from. */
  readonly text: string
  readonly hostsTexts: ReadonlyMap<string, string>
  readonly atMs: number
  /** How many Corefiles could not be used. */
  readonly failedReloads: number
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

function* hostsSeries({ corefile, hostsTexts, atMs }: ConfiguredDns): Iterable<Series> {
  const all = corefile.blocks.flatMap(({ hosts }) => (hosts === undefined ? [] : [hosts]))
  for (const hosts of all) {
    const { size } = new HostsAnswers(hosts, hostsTexts.get(hosts.file) ?? '')
    yield gauge('coredns_hosts_entries', size, { hostsfile: hosts.file })
  }
  if (all.length > 0) yield gauge('coredns_hosts_reload_timestamp_seconds', atMs / 1000, {})
}

function gauge(name: string, value: number, labels: Readonly<Record<string, string>>): Series {
  return { kind: 'gauge', name, labels, value }
}
