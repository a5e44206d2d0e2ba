// The agents of `npm run bench -- scale`, all in this process: each has the watches of a real one over connections of its own, renews its Lease
// and posts the status of its Node. Takes steps over IPC and answers each with its figures.
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { formatMicroTime } from '../../src/model/api-object.ts'
import type { AdminAccess } from '../../test/helpers/platnet-server.ts'
import { RawClient } from '../api/raw-client.ts'
import { percentile } from '../report.ts'
import { type AgentWatch, agentWatches } from './agent-watches.ts'
import type { AgentsFigures, AgentsOrder, AgentsStep, SimulatedNode } from './agents-order.ts'

const leaseIntervalMs = 10_000
const statusIntervalMs = 5 * 60_000
const connectingAtOnce = 20
const writersAtOnce = 16
const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
/** Each change gives its endpoint a name with the number of the change. */
const changeMark = '"hostname":"change-'
const mergePatch = 'application/merge-patch+json'

/** When each change of a slice came to each agent, by the number of the change and that of the server. */
const seenMs: number[][][] = []
/** How many agents each server has. */
const agentsOf: number[] = []
let events = 0
let watches = 0
let endedWatches = 0
let writer: AdminAccess
let services = 0
let written = 0

async function openWatch(node: SimulatedNode, { path, holds }: AgentWatch, held: AgentsOrder['held']): Promise<void> {
  const client = await RawClient.open(node.access)
  const initial = held[holds] ?? 0
  const isMeasured = holds === 'slices'
  const ready = Promise.withResolvers<void>()
  let count = 0
  client.onClose(() => {
    endedWatches += 1
  })
  client.watch(`${path}${path.includes('?') ? '&' : '?'}watch=1`, (nowMs, line) => {
    count += 1
    if (count === initial) ready.resolve()
    if (count <= initial) return
    events += 1
    if (isMeasured) seenMs[changeOf(line)]?.[node.server]?.push(nowMs)
  })
  if (initial === 0) ready.resolve()
  await ready.promise
  watches += 1
}

/** Returns the number of the change that an event shows; -1 for one that another program made. */
function changeOf(line: Buffer): number {
  const at = line.indexOf(changeMark)
  return at === -1
    ? -1
    : Number.parseInt(line.toString('latin1', at + changeMark.length, at + changeMark.length + 9), 10)
}

async function keepNode(node: SimulatedNode, place: number): Promise<void> {
  const client = await RawClient.open(node.access)
  const spec = {
    holderIdentity: node.name,
    leaseDurationSeconds: 40,
    renewTime: formatMicroTime(new Date()),
  }
  await client.send('POST', leases, JSON.stringify({ metadata: { name: node.name }, spec }))
  let statusAtMs = performance.now() + place * statusIntervalMs
  await sleep(place * leaseIntervalMs)
  for (;;) {
    const renewTime = formatMicroTime(new Date())
    await client.send('PATCH', `${leases}/${node.name}`, JSON.stringify({ spec: { renewTime } }), mergePatch)
    if (performance.now() > statusAtMs) {
      statusAtMs += statusIntervalMs
      const condition = { type: 'Ready', status: 'True', lastHeartbeatTime: `${renewTime.slice(0, 19)}Z` }
      const status = JSON.stringify({ status: { conditions: [condition] } })
      await client.send('PATCH', `/api/v1/nodes/${node.name}/status`, status, mergePatch)
    }
    await sleep(leaseIntervalMs)
  }
}

async function connect(order: AgentsOrder): Promise<AgentsFigures> {
  services = order.services
  writer = order.writer
  for (const { server } of order.nodes) agentsOf[server] = (agentsOf[server] ?? 0) + 1
  const startMs = performance.now()
  const waiting = order.nodes.entries()
  const connectNext = async () => {
    for (const [, node] of waiting) {
      await Promise.all(agentWatches(node.name).map((watch) => openWatch(node, watch, order.held)))
    }
  }
  await Promise.all(Array.from({ length: connectingAtOnce }, connectNext))
  const connectSeconds = (performance.now() - startMs) / 1000
  for (const [index, node] of order.nodes.entries()) void keepNode(node, index / order.nodes.length)
  return { connectSeconds, watches }
}

/** Changes the endpoints of one slice after another, at a steady rate as long as the server keeps up with it. */
async function change(seconds: number, perSecond: number): Promise<AgentsFigures> {
  const [first, eventsBefore, changes] = [written, events, seconds * perSecond]
  const answeredMs: number[] = []
  // A connection that sends nothing for 10 s is cut, so they are opened here.
  const connections = await Promise.all(Array.from({ length: writersAtOnce }, () => RawClient.open(writer)))
  const startMs = performance.now()
  const numbers = Array.from({ length: changes }, (_, index) => index).values()
  const write = async (client: RawClient) => {
    for (const index of numbers) {
      await sleep(Math.max(0, startMs + (index * 1000) / perSecond - performance.now()))
      await changeSlice(client, first + index)
      answeredMs[index] = performance.now()
    }
  }
  await Promise.all(connections.map(write))
  const changeSeconds = (performance.now() - startMs) / 1000
  const deadlineMs = performance.now() + 10_000
  const isSeen = () => seenMs.slice(first).every((ofServers) => ofServers.every(isWhole))
  while (!isSeen() && performance.now() < deadlineMs) await sleep(50)
  const committedMs = answeredMs.map((answered, index) => earliest(answered, seenMs[first + index] ?? []))
  const latencies = agentsOf.map((_, server) => {
    const seen = committedMs.map((committed, index) =>
      behindOf(committed, seenMs[first + index]?.[server] ?? [], server),
    )
    return { medianMs: seen.map(({ medianMs }) => medianMs), lastMs: seen.map(({ lastMs }) => lastMs) }
  })
  return { latencies, changes, changeSeconds, events: events - eventsBefore, endedWatches }
}

async function changeSlice(client: RawClient, number: number): Promise<void> {
  seenMs[number] = agentsOf.map(() => [])
  written = Math.max(written, number + 1)
  const slice = number % services
  const endpoint = {
    addresses: [`198.18.${number % 250}.${slice % 250}`],
    conditions: { ready: number % 2 === 0 },
    hostname: `change-${number}`,
  }
  const path = `/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/web-${slice}`
  const { code } = await client.send('PATCH', path, JSON.stringify({ endpoints: [endpoint] }), mergePatch)
  if (code !== 200) throw new Error(`a change was answered with ${code}`)
}

function isWhole(seen: readonly number[], server: number): boolean {
  return seen.length >= (agentsOf[server] ?? 0)
}

/** A change was committed when its writer or the first agent heard of it, or before. */
function earliest(answered: number, ofServers: readonly (readonly number[])[]): number {
  return Math.min(answered, ...ofServers.flat())
}

/** A change that not all agents got never ends. */
function behindOf(committed: number, seen: readonly number[], server: number) {
  const lastMs = isWhole(seen, server) ? Math.max(...seen) - committed : Number.POSITIVE_INFINITY
  return { medianMs: percentile(seen, 0.5) - committed, lastMs }
}

async function perform(step: AgentsStep): Promise<AgentsFigures> {
  switch (step.kind) {
    case 'connect':
      return connect(step.order)
    case 'rest': {
      const before = events
      await sleep(step.seconds * 1000)
      return { events: events - before }
    }
    case 'change':
      return change(step.seconds, step.perSecond)
  }
}

for (;;) {
  const [step] = (await once(process, 'message')) as [AgentsStep]
  process.send?.(await perform(step))
}
