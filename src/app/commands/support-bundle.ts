import { writeFile } from 'node:fs/promises'
import { hostname, release, version } from 'node:os'
import { ApiClient, loadKubeconfig } from '../../client/index.ts'
import { configYaml } from '../../config/index.ts'
import { type Run, runProgram, type TarFile, tarGz } from '../../host/index.ts'
import { describeError } from '../../model/errors.ts'
import { readBuildInfo, redactWhole } from '../../observe/index.ts'
import { dataPaths } from '../composition/cluster-files.ts'
import type { Options } from '../context.ts'
import { askConfigz, askMetrics, askPlan, askStatus } from './ask-agent.ts'
import { checkHost } from './check.ts'
import { podsOfNode } from './cleanup.ts'
import { readKnownSecrets } from './known-secrets.ts'

export interface SupportBundle {
  readonly file: string
  readonly bytes: number
  /** The names of the files in it. */
  readonly names: readonly string[]
  /** One line for each part that could not be collected. */
  readonly missing: readonly string[]
}

/** One part of a bundle; a part that fails is named in `missing.txt`. */
type Part = readonly [name: string, collect: () => Promise<string>]

const programTimeoutMs = 20_000
const journalLines = '5000'
const units = ['platnet', 'platnet-server', 'platnet-agent']
const packages = [
  'platnet',
  'iptables',
  'nftables',
  'ipset',
  'conntrack',
  'iproute2',
  'haproxy',
  'containernetworking-plugins',
]

/** The programs whose output a maintainer needs, by the file of the bundle. */
const programs: Readonly<Record<string, readonly [file: string, ...args: string[]]>> = {
  'rules/iptables-save.txt': ['iptables-save', '-c'],
  'rules/ip6tables-save.txt': ['ip6tables-save', '-c'],
  'rules/iptables-legacy-save.txt': ['iptables-legacy-save', '-c'],
  'rules/nft.txt': ['nft', '-a', 'list', 'ruleset'],
  'rules/ipset.txt': ['ipset', 'save'],
  'network/addresses.txt': ['ip', '-d', '-s', 'address'],
  'network/routes.txt': ['ip', 'route', 'show', 'table', 'all'],
  'network/routing-rules.txt': ['ip', 'rule'],
  'network/neighbours.txt': ['ip', 'neighbour'],
  'network/bridge-fdb.txt': ['bridge', 'fdb'],
  'network/namespaces.txt': ['ip', 'netns'],
  'network/listeners.txt': ['ss', '-lntu'],
  'network/conntrack-count.txt': ['conntrack', '-C'],
  'network/conntrack-statistics.txt': ['conntrack', '-S'],
  'system/modules.txt': ['lsmod'],
  'system/packages.txt': ['dpkg-query', '-W', ...packages],
  'system/os-release.txt': ['cat', '/etc/os-release'],
  'system/memory.txt': ['cat', '/proc/meminfo'],
  'system/pressure.txt': ['cat', '/proc/pressure/cpu', '/proc/pressure/memory', '/proc/pressure/io'],
  'logs/journal.txt': [
    'journalctl',
    '--no-pager',
    '-o',
    'short-iso',
    '-n',
    journalLines,
    ...units.flatMap((unit) => ['-u', unit]),
  ],
}

/** Collects what a maintainer needs from this machine, without secrets, and writes it to `file` with mode 0600. Throws only if it cannot be written. */
export async function writeSupportBundle(
  options: Options,
  file: string,
  run: Run = runProgram,
): Promise<SupportBundle> {
  const secrets = await readKnownSecrets(options.values)
  const parts: readonly Part[] = [...ownParts(options), ...programParts(run)]
  const collected = await Promise.all(parts.map(collectPart))
  const missing = collected.flatMap((part) => ('problem' in part ? [part.problem] : []))
  const files: readonly TarFile[] = [
    ...collected.flatMap((part) => ('text' in part ? [part] : [])),
    { name: 'missing.txt', text: missing.map((line) => `${line}\n`).join('') },
  ].map(({ name, text }) => ({ name: `platnet-support/${name}`, text: redactWhole(text, secrets) }))
  const archive = tarGz(files, Date.now())
  await writeFile(file, archive, { mode: 0o600, flag: 'wx' })
  return { file, bytes: archive.length, names: files.map(({ name }) => name), missing }
}

async function collectPart([name, collect]: Part): Promise<TarFile | { readonly problem: string }> {
  try {
    return { name, text: await collect() }
  } catch (error) {
    return { problem: `${name}: ${describeError(error)}` }
  }
}

function ownParts(options: Options): readonly Part[] {
  const { values, resolved } = options
  const socket = values.node.controlSocket
  const json = async (answer: Promise<unknown>) => `${JSON.stringify(await answer, undefined, 2)}\n`
  const build = { ...readBuildInfo(), node: process.version, host: hostname(), kernel: `${release()} ${version()}` }
  return [
    ['version.json', () => json(Promise.resolve(build))],
    ['config.yaml', async () => configYaml(resolved)],
    ['check.json', () => json(checkHost(options))],
    ['agent/status.json', () => json(askStatus(socket))],
    ['agent/plan.json', () => json(askPlan(socket))],
    ['agent/configz.json', () => json(askConfigz(socket))],
    ['agent/metrics.txt', async () => (await askMetrics(socket)).text],
    ['events.txt', () => readEvents(values)],
    ['pods.txt', async () => podsOfNode(options).join('\n')],
  ]
}

function programParts(run: Run): readonly Part[] {
  return Object.entries(programs).map(([name, [file, ...args]]) => [name, async () => runForText(run, file, args)])
}

/** Returns the output of a program also if it ends with an error, such as dpkg-query for one package of several. Throws if it cannot be run. */
async function runForText(run: Run, file: string, args: readonly string[]): Promise<string> {
  const env = { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/usr/bin:/sbin:/bin`, LC_ALL: 'C' }
  const options = { timeoutMs: programTimeoutMs, untrusted: true, env }
  const { stdout, stderr, exitCode } = await run(file, args, options)
  return exitCode === 0 ? stdout : `${stdout}${stderr}\nexit code ${exitCode ?? 'unknown'}\n`
}

/** The fields of an Event that say what happened; a message is redacted like all texts. */
interface ListedEvent {
  readonly metadata?: { readonly namespace?: string }
  readonly involvedObject?: { readonly kind?: string; readonly name?: string }
  readonly type?: string
  readonly reason?: string
  readonly message?: string
  readonly count?: number
  readonly lastTimestamp?: string
  readonly eventTime?: string
}

const maxEvents = 1000

/** Lists the newest Events of all namespaces, one a line, with the identity of the options or of this machine's administrator. */
async function readEvents({ app, node }: Options['values']): Promise<string> {
  const client = new ApiClient(await loadKubeconfig(node.kubeconfig ?? dataPaths(app.dataDir).adminKubeconfig))
  try {
    const list = (await client.getDocument('/api/v1/events?limit=5000')) as { readonly items?: readonly ListedEvent[] }
    const lines = (list.items ?? []).map(describeEvent).sort()
    return lines
      .slice(-maxEvents)
      .map((line) => `${line}\n`)
      .join('')
  } finally {
    client.close()
  }
}

function describeEvent({ metadata, involvedObject, type, reason, message, count, ...times }: ListedEvent): string {
  const at = times.lastTimestamp ?? times.eventTime ?? 'unknown time'
  const object = `${involvedObject?.kind} ${metadata?.namespace}/${involvedObject?.name}`
  return `${at} ${type} ${reason} ${object} (${count ?? 1}): ${message}`
}
