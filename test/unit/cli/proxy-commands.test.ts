import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { proxyQuestions } from '../../../src/app/proxy-questions.ts'
import { runCli } from '../../../src/cli/run-cli.ts'
import { createControlSocket } from '../../../src/node/control/index.ts'
import { createProxyMetrics, ProxyPlane } from '../../../src/node/proxy/index.ts'
import type { ChainDifference, WriteReport } from '../../../src/node/rules/index.ts'
import { AppliedRevisions, LiveNodeState } from '../../../src/node/state/index.ts'
import { readObject } from '../../../src/node/state/stored-object.ts'
import { createMetrics, silentLogger } from '../../../src/observe/index.ts'
import { cidr } from '../../helpers/services.ts'
import { until } from '../../helpers/until.ts'
import { dialect, wireService, wireSlice } from '../../helpers/wire-objects.ts'

const report: WriteReport = {
  kind: 'written',
  bytes: 1,
  durationMs: 1,
  chainsSet: 1,
  chainsRemoved: 0,
  restores: 1,
  rules: { nat: 3, filter: 1 },
}
const scope = { signal: AbortSignal.timeout(30_000) }

/** Takes every write; what it says of the kernel is the test's. */
const writer = {
  differences: [] as ChainDifference[],
  sync: async () => report,
  write: async () => report,
  preview: async () => writer.differences,
  countersOf: async (_table: string, chain: string) => ({ packets: chain.startsWith('PLAT-SEP') ? 7 : 0, bytes: 420 }),
}

const state = new LiveNodeState(silentLogger)
const applied = new AppliedRevisions(state)
applied.register('proxy')
const plane = new ProxyPlane({
  state,
  writer,
  applied,
  settings: {
    nodeName: 'n1',
    family: 'IPv4',
    zone: 'a',
    localTraffic: { kind: 'source', cidr: cidr('10.244.0.0/16') },
  },
  metrics: createProxyMetrics(createMetrics())('IPv4'),
  log: silentLogger,
})

function listObjects(): void {
  const local = { internalTrafficPolicy: 'Local', clusterIP: '10.96.0.12' }
  const services = [
    wireService('web', '1'),
    wireService('empty', '2', { clusterIP: '10.96.0.11' }),
    wireService('here', '3', local),
  ]
  const terminating = { ready: false, serving: true, terminating: true }
  const endpoints = [
    { addresses: ['10.244.0.1'], nodeName: 'n1' },
    { addresses: ['10.244.1.2'], nodeName: 'n2' },
    { addresses: ['10.244.1.3'], nodeName: 'n2', conditions: { ready: false } },
    { addresses: ['10.244.1.4'], nodeName: 'n2', conditions: terminating },
  ]
  const slices = [
    wireSlice('web-1', 'web', '4', { endpoints }),
    wireSlice('here-1', 'here', '5', { endpoints: endpoints.slice(1) }),
  ]
  state.replace(
    'services',
    services.map((each) => readObject('services', each, dialect)),
    '10',
  )
  state.replace(
    'endpointslices',
    slices.map((each) => readObject('endpointslices', each, dialect)),
    '10',
  )
  state.replace('endpoints', [], '10')
}

describe('the commands that ask the running proxy', () => {
  let socket = ''
  let control: ReturnType<typeof createControlSocket>

  before(async () => {
    socket = path.join(await mkdtemp(path.join(tmpdir(), 'plt-test-')), 'agent.sock')
    control = createControlSocket({
      path: socket,
      applied,
      status: () => ({}),
      questions: proxyQuestions([{ plane, writer }]),
      log: silentLogger,
    })
    await control.start()
    await plane.start()
    listObjects()
    await until('all is applied', () => applied.report().planes['proxy'] === 1)
  })

  after(async () => {
    await plane.stop(scope)
    await control.stop(scope)
    await rm(path.dirname(socket), { recursive: true, force: true })
  })

  async function platnet(...args: readonly string[]) {
    const written = { stdout: '', stderr: '' }
    const stream = (name: 'stdout' | 'stderr') => ({
      write: (text: string) => {
        written[name] += text
        return true
      },
    })
    const argv = ['node', 'platnet', ...args, '--control-socket', socket]
    const code = await runCli(argv, { env: {}, stdout: stream('stdout'), stderr: stream('stderr') })
    return { code, ...written }
  }

  test('explain says which Service, which endpoints and which rules', async () => {
    const { code, stdout } = await platnet('explain', '203.0.113.9', '10.96.0.10:80')
    assert.equal(code, 0)
    assert.match(stdout, /^10\.96\.0\.10:80\/TCP is the cluster IP of default\/web:http\.\n/)
    assert.match(
      stdout,
      /With 50\.0 % it is sent to the endpoint 10\.244\.0\.1:8080, its source replaced by an address of this node\./,
    )
    assert.match(stdout, /nat PLAT-SERVICES rule \d+: default\/web:http cluster IP/)
    const fromPod = await platnet('explain', '10.244.0.77', '10.96.0.10:80')
    assert.match(fromPod.stdout, /10\.244\.1\.2:8080, its source 10\.244\.0\.77 kept\./)
  })

  test('explain says why a packet is refused or dropped, and what is no Service', async () => {
    const refused = await platnet('explain', '10.244.0.77', '10.96.0.11:80')
    assert.match(refused.stdout, /It is refused: default\/empty:http has no endpoints\./)
    const dropped = await platnet('explain', '10.244.0.77', '10.96.0.12:80')
    assert.match(dropped.stdout, /It is dropped without an answer: default\/here:http has no local endpoints\./)
    const other = await platnet('explain', '10.244.0.77', '10.96.0.10:81/udp')
    assert.match(other.stdout, /belongs to no Service on this node\.\nIt goes on untouched\./)
    const json = await platnet('explain', '10.244.0.77', '10.96.0.11:80', '-o', 'json')
    assert.equal(JSON.parse(json.stdout).outcomes[0].verdict, 'reject')
  })

  test('explain service says of each endpoint whether it is used, and why', async () => {
    const { stdout } = await platnet('explain', 'service', 'default/web')
    assert.match(stdout, /default\/web:http\/TCP: cluster IP 10\.96\.0\.10:80 \(policy Cluster\)/)
    assert.match(stdout, /\+ 10\.244\.0\.1:8080 \(on n1\): used for the whole cluster: ready/)
    assert.match(stdout, /- 10\.244\.1\.3:8080 \(on n2\): not used: it is not ready/)
    assert.match(stdout, /- 10\.244\.1\.4:8080 \(on n2\): not used: it terminates, and others are ready/)
    assert.match(stdout, /PLAT-SEP-\S+: 7 packets, 420 bytes/)
    const local = await platnet('explain', 'service', 'default/here')
    assert.match(
      local.stdout,
      /- 10\.244\.1\.2:8080 \(on n2\): not used: traffic policy Local, and it is not on this node/,
    )
  })

  test('what cannot be asked is said so', async () => {
    const nonsense = await platnet('explain', '10.244.0.77', 'web')
    assert.equal(nonsense.code, 2)
    assert.match(nonsense.stderr, /expected ADDRESS:PORT/)
    const mixed = await platnet('explain', '10.244.0.77', '[fd00::1]:80')
    assert.match(mixed.stderr, /must be of one IP family/)
    const unknown = await platnet('explain', 'service', 'default/none')
    assert.match(unknown.stderr, /knows no Service default\/none/)
    assert.notEqual(unknown.code, 0)
  })

  test('plan shows differences as a diff and says with its exit code that there are some', async () => {
    const same = await platnet('plan')
    assert.deepEqual([same.code, same.stdout], [0, 'IPv4: the kernel holds the rules that it should\n'])
    writer.differences = [
      { table: 'nat', chain: 'PLAT-SVC-A', problem: 'different', wanted: ['-j PLAT-SEP-A'], found: ['-j PLAT-SEP-B'] },
    ]
    const other = await platnet('plan')
    assert.deepEqual(
      [other.code, other.stdout],
      [3, 'IPv4 nat PLAT-SVC-A: different\n  - -j PLAT-SEP-B\n  + -j PLAT-SEP-A\n'],
    )
  })
})
