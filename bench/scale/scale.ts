import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { ensureClusterCa, issueCertificate } from '../../src/pki/index.ts'
import { AdminConnection } from '../../test/helpers/admin-connection.ts'
import { processorSeconds } from '../processor-time.ts'
import { type BenchReport, type BenchRow, measureAlone, percentile, progress } from '../report.ts'
import { type FanOut, SimulatedAgents, type SimulatedNode } from './agents-order.ts'
import { coresBetween, openServers, type ScaleServer, type ServerUsage, usageOf } from './servers.ts'

const folder = '.cache/bench-scale'
const numberOf = (name: string, otherwise: number) => Number(process.env[name] ?? otherwise)
const services = numberOf('BENCH_SCALE_SERVICES', 500)
const perSecond = numberOf('BENCH_SCALE_RATE', 50)
const seconds = numberOf('BENCH_SCALE_SECONDS', 30)
const sizes = (process.env['BENCH_SCALE_AGENTS'] ?? '500').split(',').map(Number)
/** The share of a core that the main loop of a server may use before its answers become late. */
const fullShare = 0.7
const percent = 100 * fullShare

/** Watches of hundreds of agents, simulated, on one server or on several of one cluster. */
export async function benchScale(): Promise<BenchReport> {
  mkdirSync(folder, { recursive: true })
  const rows: BenchRow[] = []
  for (const agents of sizes) rows.push(...(await measure(agents)))
  return { name: 'scale', rows }
}

async function measure(agents: number): Promise<readonly BenchRow[]> {
  await using servers = await openServers(folder)
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
    const name = `${agents} agents, ${servers.list.length === 1 ? 'one server' : `${servers.list.length} servers`}`
    return [
      measureAlone(`${name}: until all watches have all objects`, 's', connectSeconds),
      ...resourceRows(name, { agents, events: changing.events ?? 0, empty, before, rested, changed }),
      measureAlone(`${name}: changes`, '1/s', (changing.changes ?? 0) / (changing.changeSeconds ?? seconds)),
      ...latencyRows(name, changing.latencies ?? []),
      ...(servers.etcdPids.length === 0
        ? []
        : [
            measureAlone(
              `${name}: processor of all members of etcd`,
              '% of a core',
              (100 * etcdSeconds) / (changing.changeSeconds ?? seconds),
            ),
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

function resourceRows(name: string, phases: Phases): readonly BenchRow[] {
  const { events, empty, before, rested, changed } = phases
  const agents = phases.agents / changed.length
  const perEvent = secondsPerEvent(events, phases)
  const perAgent = Math.max(...restingCores(before, rested)) / agents + perSecond * perEvent
  const ofServers = changed.map((last, index) => ({
    name: serverName(name, index, changed.length),
    empty: empty[index] ?? last,
    before: before[index] ?? last,
    rested: rested[index] ?? last,
    changed: last,
  }))
  return [
    ...ofServers.flatMap((server) => serverRows(server, agents)),
    measureAlone(`${name}: processor per event of a watch`, 'µs', 1e6 * perEvent),
    measureAlone(
      `${name}: agents of one server at ${perSecond} changes/s, ${percent} % of a core`,
      'agents',
      fullShare / perAgent,
    ),
  ]
}

function serverName(name: string, index: number, count: number): string {
  return count === 1 ? name : `${name}, server ${index + 1}`
}

type ServerPhases = { readonly name: string } & Readonly<Record<'empty' | 'before' | 'rested' | 'changed', ServerUsage>>

function serverRows({ name, empty, before, rested, changed }: ServerPhases, agents: number): readonly BenchRow[] {
  const grownKiB = (changed.residentMiB - empty.residentMiB) * 1024
  return [
    measureAlone(`${name}: resident, before they connect`, 'MiB', empty.residentMiB),
    measureAlone(`${name}: resident, at rest`, 'MiB', rested.residentMiB),
    measureAlone(`${name}: resident, after the changes`, 'MiB', changed.residentMiB),
    measureAlone(`${name}: resident per agent`, 'KiB', grownKiB / agents),
    measureAlone(`${name}: processor, at rest`, '% of a core', 100 * coresBetween(before, rested)),
    measureAlone(`${name}: processor, during the changes`, '% of a core', 100 * coresBetween(rested, changed)),
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

function latencyRows(name: string, latencies: readonly FanOut[]): readonly BenchRow[] {
  return latencies.flatMap(({ medianMs, lastMs }, index) => {
    const server = serverName(name, index, latencies.length)
    return [
      measureAlone(`${server}: commit to the agent in the middle, p50`, 'ms', percentile(medianMs, 0.5)),
      measureAlone(`${server}: commit to the last agent, p50`, 'ms', percentile(lastMs, 0.5)),
      measureAlone(`${server}: commit to the last agent, p99`, 'ms', percentile(lastMs, 0.99)),
    ]
  })
}

async function makeNodes(servers: readonly ScaleServer[], agents: number): Promise<readonly SimulatedNode[]> {
  const nodes: SimulatedNode[] = []
  for (let index = 0; index < agents; index++) {
    const server = index % servers.length
    const { dataDir, access } = servers[server] as ScaleServer
    const name = `node-${index}`
    const request = { commonName: `system:node:${name}`, organizations: ['system:nodes'], days: 1 }
    const ca = await ensureClusterCa(join(dataDir, 'pki'))
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
