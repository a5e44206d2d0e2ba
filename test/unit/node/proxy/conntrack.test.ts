import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FlowEnds } from '../../../../src/node/proxy/conntrack-plan.ts'
import { ConntrackCleaner, createConntrackMetrics } from '../../../../src/node/proxy/index.ts'
import { LiveNodeState } from '../../../../src/node/state/index.ts'
import { readObject } from '../../../../src/node/state/stored-object.ts'
import { createMetrics, silentLogger } from '../../../../src/observe/index.ts'
import { ip } from '../../../helpers/services.ts'
import { until } from '../../../helpers/until.ts'
import { dialect, wireService, wireSlice } from '../../../helpers/wire-objects.ts'

const key = 'default/web'
const nodeIp = '192.0.2.1'

function flow(protocol: 'udp' | 'tcp', destination: string, port: number, answerer: string): FlowEnds {
  return {
    protocol,
    destination: ip(destination),
    destinationPort: port,
    replySource: ip(answerer),
    replySourcePort: answerer === destination ? port : 8080,
  }
}

/** One Service of both protocols with a node port each, and a kernel that holds flows. */
class Lab {
  readonly state = new LiveNodeState(silentLogger)
  flows: FlowEnds[] = []
  removed: FlowEnds[] = []
  lists = 0
  isAway = false
  #version = 1
  readonly cleaner: ConntrackCleaner<FlowEnds>

  constructor(tcpGraceMs?: number) {
    this.cleaner = new ConntrackCleaner<FlowEnds>({
      family: 'IPv4',
      state: this.state,
      flows: {
        list: async (protocol) => {
          this.lists += 1
          if (this.isAway) throw new Error('conntrack was not found')
          return this.flows.filter((each) => each.protocol === protocol)
        },
        remove: async (flows) => void this.removed.push(...flows),
      },
      isLocalAddress: (address) => address === nodeIp,
      tcpGraceMs,
      metrics: createConntrackMetrics(createMetrics())('IPv4'),
      log: silentLogger,
    })
    const ports = [
      { name: 'u', port: 80, protocol: 'UDP', nodePort: 30080 },
      { name: 't', port: 80, protocol: 'TCP', nodePort: 30080 },
    ]
    const service = wireService('web', '1', { type: 'NodePort', ports, externalIPs: ['198.51.100.7'] })
    this.state.replace('services', [readObject('services', service, dialect)], '1')
    this.state.replace('endpoints', [], '1')
    this.state.replace('endpointslices', [], '1')
  }

  setService(spec: object): void {
    this.#version += 1
    const service = wireService('web', String(this.#version), spec)
    this.state.upsert('services', readObject('services', service, dialect))
    this.cleaner.onApplied([key])
  }

  set(...endpoints: readonly object[]): void {
    this.#version += 1
    const ports = ['UDP', 'TCP'].map((protocol) => ({ name: protocol === 'UDP' ? 'u' : 't', port: 8080, protocol }))
    const slice = wireSlice('web-1', 'web', String(this.#version), { ports, endpoints })
    this.state.upsert('endpointslices', readObject('endpointslices', slice, dialect))
    this.cleaner.onApplied([key])
  }

  async isDone(): Promise<void> {
    const lists = this.lists
    await until('it has searched', () => this.lists > lists)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

const [one, two] = ['10.244.0.1', '10.244.0.2']
const ready = (address: string) => ({ addresses: [address] })
const draining = (address: string) => ({
  addresses: [address],
  conditions: { ready: false, serving: true, terminating: true },
})

test('exactly the flows of an endpoint that is gone are forgotten, whichever frontend they came in', async () => {
  const lab = new Lab()
  lab.set(ready(one), ready(two))
  await lab.isDone()
  const stale = ['10.96.0.10', '198.51.100.7'].map((vip) => flow('udp', vip, 80, one))
  const byNodePort = flow('udp', nodeIp, 30080, one)
  const others = [
    flow('udp', '10.96.0.10', 80, two),
    flow('udp', '10.96.0.10', 81, one),
    flow('tcp', '10.96.0.10', 80, one),
    flow('udp', '203.0.113.9', 30080, one),
    flow('udp', '10.96.0.99', 80, one),
  ]
  lab.flows = [...stale, byNodePort, ...others]
  lab.set(ready(two))
  await lab.isDone()
  assert.deepEqual(lab.removed, [...stale, byNodePort])
})

test('where rules were overtaken, flows to endpoints that no report had are forgotten, too, and no others', async () => {
  const lab = new Lab()
  lab.set(ready(one))
  await lab.isDone()
  const [between, untranslated] = [
    flow('udp', '10.96.0.10', 80, '10.244.0.9'),
    flow('udp', '10.96.0.10', 80, '10.96.0.10'),
  ]
  lab.flows = [between, flow('udp', '10.96.0.10', 80, two), flow('udp', '10.96.0.99', 80, '10.244.0.9')]
  lab.cleaner.onOvertaken([key])
  lab.set(ready(two))
  await lab.isDone()
  assert.deepEqual(lab.removed, [between])

  lab.flows = [between, untranslated]
  lab.removed = []
  lab.cleaner.onOvertaken([key])
  lab.set()
  await lab.isDone()
  assert.deepEqual(lab.removed, [between], 'without an endpoint, what passes untranslated stays')

  lab.removed = []
  lab.set(ready(one))
  await lab.isDone()
  assert.deepEqual(lab.removed, [untranslated], 'a report after that is compared with the last one again')
})

test('an endpoint that terminates and still serves keeps its flows until it no longer does', async () => {
  const lab = new Lab()
  lab.set(ready(one), ready(two))
  await lab.isDone()
  lab.flows = [flow('udp', '10.96.0.10', 80, one)]
  const lists = lab.lists
  lab.set(draining(one), ready(two))
  assert.equal(lab.lists, lists, 'nothing to look for')
  lab.set(ready(two))
  await lab.isDone()
  assert.equal(lab.removed.length, 1)
})

test('where there were no endpoints, flows that passed untranslated are forgotten when there is one', async () => {
  const lab = new Lab()
  lab.set(ready(one))
  await lab.isDone()
  lab.set()
  await lab.isDone()
  const untranslated = [flow('udp', '10.96.0.10', 80, '10.96.0.10'), flow('udp', nodeIp, 30080, nodeIp)]
  lab.flows = [...untranslated, flow('udp', '192.0.2.99', 30080, '192.0.2.99')]
  lab.removed = []
  lab.set(ready(two))
  await lab.isDone()
  assert.deepEqual(lab.removed, untranslated)
})

test('where a Service gets an address or a node port, flows that passed untranslated are forgotten, and no others', async () => {
  const lab = new Lab()
  lab.set(ready(one))
  await lab.isDone()
  const early = [flow('udp', '198.51.100.8', 80, '198.51.100.8'), flow('udp', nodeIp, 30081, nodeIp)]
  lab.flows = [...early, flow('udp', '10.96.0.10', 80, one), flow('udp', '198.51.100.9', 80, '198.51.100.9')]
  const ports = [{ name: 'u', port: 80, protocol: 'UDP', nodePort: 30081 }]
  lab.setService({ type: 'NodePort', ports, externalIPs: ['198.51.100.7', '198.51.100.8'] })
  await until('they are forgotten', () => lab.removed.length > 0, 30_000)
  assert.deepEqual(lab.removed, early)
})

test('flows of a Service that another proxy serves are left alone', async () => {
  const { serviceProxyName } = dialect.labels
  const foreign = wireService(
    'other',
    '2',
    { ports: [{ name: 'u', port: 80, protocol: 'UDP' }] },
    { [serviceProxyName]: 'x' },
  )
  const lab = new Lab()
  lab.state.upsert('services', readObject('services', foreign, dialect))
  const ports = [{ name: 'u', port: 8080, protocol: 'UDP' }]
  for (const [version, address] of [
    ['3', one],
    ['4', two],
  ] as const) {
    const slice = wireSlice('other-1', 'other', version, { ports, endpoints: [ready(address)] })
    lab.state.upsert('endpointslices', readObject('endpointslices', slice, dialect))
    lab.cleaner.onApplied(['default/other'])
  }
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(lab.lists, 0)
})

test('flows of TCP go after the grace period, if the endpoint does not serve again by then', async () => {
  const lab = new Lab(30)
  lab.set(ready(one), ready(two))
  await lab.isDone()
  const [toOne, toTwo] = [flow('tcp', '10.96.0.10', 80, one), flow('tcp', '10.96.0.10', 80, two)]
  lab.flows = [toOne, toTwo]
  lab.set()
  lab.set(ready(two))
  await until('the first is forgotten', () => lab.removed.includes(toOne))
  assert.ok(!lab.removed.includes(toTwo))
})

test('an endpoint that serves again and ceases once more has the whole grace period then', async () => {
  const graceMs = 200
  const lab = new Lab(graceMs)
  lab.set(ready(one), ready(two))
  await lab.isDone()
  const toOne = flow('tcp', '10.96.0.10', 80, one)
  lab.flows = [toOne]
  lab.set(ready(two))
  lab.set(ready(one), ready(two))
  await new Promise((resolve) => setTimeout(resolve, graceMs / 2))
  const ceasedMs = performance.now()
  lab.set(ready(two))
  await until('it is forgotten', () => lab.removed.includes(toOne))
  assert.ok(performance.now() - ceasedMs >= graceMs - 2)
})

test('a search that fails is made again and loses nothing', async () => {
  const lab = new Lab()
  lab.set(ready(one))
  await lab.isDone()
  lab.flows = [flow('udp', '10.96.0.10', 80, one)]
  lab.isAway = true
  lab.set()
  await until('it has failed', () => lab.cleaner.health().level === 'degraded')
  lab.isAway = false
  await until('it is forgotten', () => lab.removed.length === 1, 30_000)
  assert.equal(lab.cleaner.health().level, 'ok')
})
