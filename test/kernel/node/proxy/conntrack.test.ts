import assert from 'node:assert/strict'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import type { LiveNodeState } from '../../../../src/node/state/index.ts'
import { readObject } from '../../../../src/node/state/stored-object.ts'
import { skipReason, type TestNetns, withNetns } from '../../../helpers/netns.ts'
import { until, untilAsync } from '../../../helpers/until.ts'
import { dialect, wireService, wireSlice } from '../../../helpers/wire-objects.ts'
import { nodeIp, proxyForms, startProxy } from './proxy-fixture.ts'

const [first, second] = ['10.244.0.1', '10.244.0.2']
const vip = '198.51.100.8'
const targets = ['10.96.0.10:53', '198.51.100.7:53', `${vip}:53`, `${nodeIp}:30053`]

type Proxy = Awaited<ReturnType<typeof startProxy>>

let resourceVersion = 100

function setEndpoints(state: LiveNodeState, ...addresses: readonly string[]): void {
  resourceVersion += 1
  const ports = [{ name: 'dns', port: 5353, protocol: 'UDP' }]
  const endpoints = addresses.map((address) => ({ addresses: [address] }))
  const slice = wireSlice('dns-1', 'dns', String(resourceVersion), { ports, endpoints })
  state.upsert('endpointslices', readObject('endpointslices', slice, dialect))
}

function listService(state: LiveNodeState): void {
  const spec = {
    type: 'LoadBalancer',
    externalIPs: ['198.51.100.7'],
    ports: [{ name: 'dns', port: 53, protocol: 'UDP', nodePort: 30053 }],
  }
  const service = { ...wireService('dns', '1', spec), status: { loadBalancer: { ingress: [{ ip: vip }] } } }
  state.replace('services', [readObject('services', service, dialect)], '10')
  state.replace('endpoints', [], '10')
  state.replace('endpointslices', [], '10')
}

async function prepare(netns: TestNetns): Promise<void> {
  for (const address of [nodeIp, first, second]) await netns.exec('ip', 'address', 'add', `${address}/32`, 'dev', 'lo')
  for (const network of ['10.96.0.0/16', '198.51.100.0/24'])
    await netns.exec('ip', 'route', 'add', network, 'dev', 'lo', 'src', nodeIp)
}

/** Clients that ask earlier leave connections to the Service's own address, which are rightly forgotten later. */
function untilApplied({ applied, state }: Proxy): Promise<void> {
  return until('the rules are written', () => applied.report().planes['proxy'] === state.revision, 30_000)
}

/** Who answered each client last. */
async function startClients(netns: TestNetns): Promise<ReadonlyMap<string, string>> {
  const program = path.join(import.meta.dirname, 'udp-flows.program.ts')
  const running = await netns.start(process.execPath, [program, `${first},${second}`, targets.join()], {
    stdout: 'pipe',
  })
  const answers = new Map<string, string>()
  if (running.stdout) {
    createInterface(running.stdout).on('line', (line) => {
      const [target = '', server = ''] = line.split(' ')
      answers.set(target, server)
    })
  }
  return answers
}

/** What is forgotten follows from the Services, whatever flavour of iptables has the rules. */
const forms = proxyForms.filter(([form]) => form !== 'legacy')

for (const [form, program] of forms) {
  test(
    `clients of UDP that keep their port follow the endpoints, at every address (${form})`,
    {
      skip: skipReason(program, 'conntrack'),
      timeout: 120_000,
    },
    () =>
      withNetns(async (lab) => {
        const netns = await lab.create()
        await prepare(netns)
        const proxy = await startProxy(netns, { form })
        try {
          listService(proxy.state)
          setEndpoints(proxy.state, first)
          await untilApplied(proxy)
          const answers = await startClients(netns)
          const allBy = (server: string) => () => targets.every((target) => answers.get(target) === server)
          await until('the first endpoint answers all', allBy(first), 30_000)

          setEndpoints(proxy.state, second)
          await until('the second endpoint answers all', allBy(second), 30_000)
          assert.deepEqual(
            new Set(proxy.removed.map(({ replySource }) => replySource)),
            new Set([first]),
            'only connections to the endpoint that went were forgotten',
          )

          setEndpoints(proxy.state, second, first)
          const before = proxy.removed.length
          setEndpoints(proxy.state)
          await until(
            'the connections to the endpoint that went are forgotten',
            () => proxy.removed.length > before,
            30_000,
          )
          setEndpoints(proxy.state, first)
          await until('the first endpoint answers all again', allBy(first), 30_000)
        } finally {
          await proxy.stop()
        }
      }),
  )

  test(
    `a restart forgets connections to endpoints that went meanwhile, and no others (${form})`,
    {
      skip: skipReason(program, 'conntrack'),
      timeout: 120_000,
    },
    () =>
      withNetns(async (lab) => {
        const netns = await lab.create()
        await prepare(netns)
        const before = await startProxy(netns, { form })
        listService(before.state)
        setEndpoints(before.state, first)
        await untilApplied(before)
        const answers = await startClients(netns)
        await until('all are answered', () => targets.every((target) => answers.get(target) === first), 30_000)
        await before.stop()

        const same = await startProxy(netns, { form })
        listService(same.state)
        setEndpoints(same.state, first)
        await until('the comparison is made', () => same.searches() > 0, 30_000)
        await same.stop()
        assert.deepEqual(same.removed, [], 'nothing went away')

        const after = await startProxy(netns, { form })
        try {
          listService(after.state)
          setEndpoints(after.state, second)
          await until(
            'the second endpoint answers',
            () => targets.every((target) => answers.get(target) === second),
            30_000,
          )
          assert.deepEqual(new Set(after.removed.map(({ replySource }) => replySource)), new Set([first]))
        } finally {
          await after.stop()
        }
      }),
  )

  test(
    `a TCP connection to an endpoint that went is forgotten after the grace period that is set, no other one is (${form})`,
    {
      skip: skipReason(program, 'conntrack'),
      timeout: 120_000,
    },
    () =>
      withNetns(async (lab) => {
        const netns = await lab.create()
        await prepare(netns)
        const proxy = await startProxy(netns, { form, tcpGraceMs: 100 })
        const setWeb = (version: string, ...addresses: readonly string[]) => {
          const endpoints = addresses.map((address) => ({ addresses: [address] }))
          proxy.state.upsert(
            'endpointslices',
            readObject('endpointslices', wireSlice('web-1', 'web', version, { endpoints }), dialect),
          )
        }
        try {
          proxy.state.replace('services', [readObject('services', wireService('web', '1'), dialect)], '10')
          proxy.state.replace('endpoints', [], '10')
          proxy.state.replace('endpointslices', [], '10')
          setWeb('11', first, second)
          await untilApplied(proxy)
          for (const [index, endpoint] of [first, second].entries()) {
            const original = ['-s', nodeIp, '-d', '10.96.0.10', '--sport', String(40_000 + index), '--dport', '80']
            const reply = [
              '-r',
              endpoint,
              '-q',
              nodeIp,
              '--reply-port-src',
              '8080',
              '--reply-port-dst',
              String(40_000 + index),
            ]
            await netns.exec(
              'conntrack',
              '-I',
              '-p',
              'tcp',
              ...original,
              ...reply,
              '--state',
              'ESTABLISHED',
              '-t',
              '300',
            )
          }
          setWeb('12', second)
          const left = () => netns.exec('conntrack', '-L', '-p', 'tcp', '-d', '10.96.0.10')
          await untilAsync('the first is forgotten', async () => !(await left()).includes(`src=${first} `), 30_000)
          assert.match(await left(), new RegExp(`src=${second} `))
          assert.deepEqual(
            proxy.removed.map(({ protocol, replySource }) => [protocol, replySource]),
            [['tcp', first]],
          )
        } finally {
          await proxy.stop()
        }
      }),
  )
}
