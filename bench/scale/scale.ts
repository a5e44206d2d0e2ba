import { mkdirSync } from 'node:fs'
import { ensureClusterCa, issueCertificate } from '../../src/pki/index.ts'
import { AdminConnection } from '../../test/helpers/admin-connection.ts'
import { isPeerBuilt } from '../api/kubernetes-target.ts'
import { processorSeconds } from '../processor-time.ts'
import { type BenchReport, type BenchRow, compareFigures, type Figure, percentile, progress } from '../report.ts'
import { type FanOut, SimulatedAgents, type SimulatedNode } from './agents-order.ts'
import {
  coresBetween,
  openPeer,
  openServers,
  type ScaleServer,
  type Servers,
  type ServerUsage,
  usageOf,
} from './servers.ts'

const folder = '.cache/bench-scale'
const numberOf = (name: string, otherwise: number) => Number(process.env[name] ?? otherwise)
const services = numberOf('BENCH_SCALE_SERVICES', 500)
const perSecond = numberOf('BENCH_SCALE_RATE', 50)
const seconds = numberOf('BENCH_SCALE_SECONDS', 30)
const sizes = (process.env['BENCH_SCALE_AGENTS'] ?? '500').split(',').map(Number)
/** The share of a core that the main loop of a server may use before its answers become late. */
const fullShare = 0.7
const percent = 100 * fullShare

/** Watches of hundreds of agents, simulated, on one server or on several of one cluster; beside one server kube-apiserver. */
export async function benchScale(): Promise<BenchReport> {
  mkdirSync(folder, { recursive: true })
  const rows: BenchRow[] = []
  for (const agents of sizes) rows.push(...(await measureSize(agents)))
  return { name: 'scale', rows }
}

async function measureSize(agents: number): Promise<readonly BenchRow[]> {
  const ours = await measure(() => openServers(folder), agents)
  const peer = hasPeer() ? await measure(() => openPeer(folder), agents) : { figures: [] }
  const name = `${agents} agents, ${ours.servers === 1 ? 'one server' : `${ours.servers} servers`}`
  const rows = compareFigures(ours.figures, peer.figures, 'kube-apiserver + etcd')
  return rows.map((row) => ({ ...row, metric: `${name}: ${row.metric}` }))
}

function hasPeer(): boolean {
  if (process.env['BENCH_PEERS'] === 'none' || (process.env['BENCH_SCALE_SERVERS'] ?? '') !== '') return false
  if (isPeerBuilt()) return true
  console.error('no peer: sh bench/api/build-peer.sh builds kube-apiserver and etcd (needs Go, takes minutes)')
  return false
}

async function measure(open: () => Promise<Servers>, agents: number) {
  await using servers = await open()
  return { servers: servers.list.length, figures: await measureFigures(servers, agents) }
}

async function measureFigures(servers: Servers, agents: number): Promise<readonly Figure[]> {
  const [first] = servers.list
  if (first === undefined) throw new Error('no server')
  const nodes = await makeNodes(servers.list, agents)
  const held = await makeObjects(first, nodes)
  const simulated = new SimulatedAgents()
  try {
    const order = { nodes, writer: first.access, services, held }
    const empty = await readAll(servers.list)
    const { connectSeconds = 0, watches = 0 } = await simulated.perform({ kind: 'connect', order })
    progress(`${agents} agents with ${watches} watches after ${connectSeconds.toFixed(1)} s`)
    await simulated.perform({ kind: 'rest', seconds: 10 })
    const before = await readAll(servers.list)
    await simulated.perform({ kind: 'rest', seconds })
    const rested = await readAll(servers.list)
    const etcdBefore = processorSeconds(servers.etcdPids)
    const changing = await simulated.perform({ kind: 'change', seconds, perSecond })
    const etcdSeconds = processorSeconds(servers.etcdPids) - etcdBefore
    const changed = await readAll(servers.list)
    const changeSeconds = changing.changeSeconds ?? seconds
    return [
      { metric: 'until all watches have all objects', unit: 's', value: connectSeconds },
      ...resourceFigures({ agents, events: changing.events ?? 0, empty, before, rested, changed }),
      { metric: 'watches that the server ended', unit: '', value: changing.endedWatches ?? 0 },
      { metric: 'changes', unit: '1/s', value: (changing.changes ?? 0) / changeSeconds },
      ...latencyFigures(changing.latencies ?? []),
      ...(servers.etcdPids.length === 0
        ? []
        : [
            {
              metric: 'processor of all members of etcd',
              unit: '% of a core',
              value: (100 * etcdSeconds) / changeSeconds,
            },
          ]),
    ]
  } finally {
    simulated.end()
  }
}

type Readings = readonly ServerUsage[]

function readAll(servers: readonly ScaleServer[]): Promise<Readings> {
  return Promise.all(servers.map((server) => usageOf(server)))
}

interface Phases {
  /** Agents of all servers. */
  readonly agents: number
  /** Events that the changes made, at all agents. */
  readonly events: number
  readonly empty: Readings
  readonly before: Readings
  readonly rested: Readings
  readonly changed: Readings
}

function resourceFigures(phases: Phases): readonly Figure[] {
  const { events, empty, before, rested, changed } = phases
  const agents = phases.agents / changed.length
  const perEvent = secondsPerEvent(events, phases)
  const perAgent = Math.max(...restingCores(before, rested)) / agents + perSecond * perEvent
  const ofServers = changed.map((last, index) => ({
    prefix: serverPrefix(index, changed.length),
    empty: empty[index] ?? last,
    before: before[index] ?? last,
    rested: rested[index] ?? last,
    changed: last,
  }))
  return [
    ...ofServers.flatMap((server) => serverFigures(server, agents)),
    { metric: 'processor per event of a watch', unit: 'µs', value: 1e6 * perEvent },
    {
      metric: `agents of one server at ${perSecond} changes/s, ${percent} % of a core`,
      unit: 'agents',
      value: fullShare / perAgent,
    },
  ]
}

function serverPrefix(index: number, count: number): string {
  return count === 1 ? '' : `server ${index + 1}: `
}

type ServerPhases = { readonly prefix: string } & Readonly<
  Record<'empty' | 'before' | 'rested' | 'changed', ServerUsage>
>

function serverFigures({ prefix, empty, before, rested, changed }: ServerPhases, agents: number): readonly Figure[] {
  const grownKiB = (changed.residentMiB - empty.residentMiB) * 1024
  return [
    { metric: `${prefix}resident, before they connect`, unit: 'MiB', value: empty.residentMiB },
    { metric: `${prefix}resident, at rest`, unit: 'MiB', value: rested.residentMiB },
    { metric: `${prefix}resident, after the changes`, unit: 'MiB', value: changed.residentMiB },
    { metric: `${prefix}resident per agent`, unit: 'KiB', value: grownKiB / agents },
    { metric: `${prefix}processor, at rest`, unit: '% of a core', value: 100 * coresBetween(before, rested) },
    {
      metric: `${prefix}processor, during the changes`,
      unit: '% of a core',
      value: 100 * coresBetween(rested, changed),
    },
  ]
}

function restingCores(before: Readings, rested: Readings): readonly number[] {
  return rested.map((reading, index) => coresBetween(before[index] ?? reading, reading))
}

/** What a change costs beyond rest, its commit included, over the events that it makes. */
function secondsPerEvent(events: number, { before, rested, changed }: Pick<Phases, 'before' | 'rested' | 'changed'>) {
  const resting = restingCores(before, rested)
  const spent = changed.map((reading, index) => {
    const start = rested[index] ?? reading
    return reading.cpuSeconds - start.cpuSeconds - ((resting[index] ?? 0) * (reading.atMs - start.atMs)) / 1000
  })
  return spent.reduce((sum, each) => sum + each, 0) / events
}

function latencyFigures(latencies: readonly FanOut[]): readonly Figure[] {
  return latencies.flatMap(({ medianMs, lastMs }, index) => {
    const prefix = serverPrefix(index, latencies.length)
    return [
      {
        metric: `${prefix}commit to the agent in the middle, p50`,
        unit: 'ms',
        value: percentile(medianMs, 0.5),
      },
      { metric: `${prefix}commit to the last agent, p50`, unit: 'ms', value: percentile(lastMs, 0.5) },
      { metric: `${prefix}commit to the last agent, p99`, unit: 'ms', value: percentile(lastMs, 0.99) },
    ]
  })
}

async function makeNodes(servers: readonly ScaleServer[], agents: number): Promise<readonly SimulatedNode[]> {
  const nodes: SimulatedNode[] = []
  for (let index = 0; index < agents; index++) {
    const server = index % servers.length
    const { pkiDir, access } = servers[server] as ScaleServer
    const name = `node-${index}`
    const request = { commonName: `system:node:${name}`, organizations: ['system:nodes'], days: 1 }
    const ca = await ensureClusterCa(pkiDir)
    const { certPem, keyPem } = await issueCertificate(ca, { ...request, usages: ['client'] })
    nodes.push({ name, server, access: { ...access, cert: certPem, key: keyPem } })
  }
  return nodes
}

/** Makes Services with a slice each, and the Nodes. Returns how many objects watches begin with. */
async function makeObjects(
  { access }: ScaleServer,
  nodes: readonly SimulatedNode[],
): Promise<Readonly<Record<string, number>>> {
  const admin = new AdminConnection(access, 16)
  const create = (path: string, objects: readonly object[]) =>
    Promise.all(objects.map((object) => admin.send('POST', path, JSON.stringify(object))))
  const numbers = Array.from({ length: services }, (_, index) => index)
  const ports = [{ name: 'http', port: 80 }]
  await create(
    '/api/v1/namespaces/default/services',
    numbers.map((number) => ({ metadata: { name: `web-${number}` }, spec: { ports } })),
  )
  await create(
    '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices',
    numbers.map((number) => sliceOf(number)),
  )
  await create(
    '/api/v1/nodes',
    nodes.map(({ name }) => ({ metadata: { name } })),
  )
  const count = async (path: string) => {
    const { body } = await admin.call('GET', `${path}?resourceVersion=0`)
    return body.items.length as number
  }
  return {
    services: await count('/api/v1/services'),
    slices: await count('/apis/discovery.k8s.io/v1/endpointslices'),
    nodes: await count('/api/v1/nodes'),
    node: 1,
    namespaces: await count('/api/v1/namespaces'),
    ranges: await count('/apis/networking.k8s.io/v1/servicecidrs'),
  }
}

function sliceOf(number: number): object {
  return {
    metadata: { name: `web-${number}`, labels: { 'kubernetes.io/service-name': `web-${number}` } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
    endpoints: Array.from({ length: 4 }, (_, index) => ({
      addresses: [`198.18.${index}.${number % 250}`],
      conditions: { ready: true },
    })),
  }
}
