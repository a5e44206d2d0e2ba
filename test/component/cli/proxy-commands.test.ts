import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { proxyQuestions } from '../../../src/app/composition/proxy-questions.ts'
import { runCli } from '../../../src/cli/run-cli.ts'
import type { Ruleset, TableChange } from '../../../src/netfilter/ruleset.ts'
import { createControlSocket } from '../../../src/node/control/index.ts'
import { createProxyMetrics, IptablesMode, ProxyPlane } from '../../../src/node/proxy/index.ts'
import type { ProxySettings } from '../../../src/node/proxy/service-plans.ts'
import { type ChainDifference, RulesError, type WriteReport } from '../../../src/node/rules/index.ts'
import { AppliedRevisions, LiveNodeState } from '../../../src/node/state/index.ts'
import { readObject } from '../../../src/node/state/stored-object.ts'
import { createMetrics, silentLogger } from '../../../src/observe/index.ts'
import { applyChanges } from '../../helpers/rulesets.ts'
import { cidr } from '../../helpers/services.ts'
import { until, untilAsync } from '../../helpers/until.ts'
import { dialect, wireService, wireSlice } from '../../helpers/wire-objects.ts'

const report: WriteReport = {
  kind: 'written',
  bytes: 1,
  durationMs: 1,
  chainsSet: 1,
  chainsRemoved: 0,
  restores: 1,
  rules: { nat: 3, filter: 1, mangle: 0 },
}
/** A deadline from its use on: other files of the process may run before this one. */
const scope = {
  get signal() {
    return AbortSignal.timeout(30_000)
  },
}

/** Rules with this address are refused. */
let refused: string | undefined

/** No write goes through. */
let isLocked = false

/** Takes every other write; what it says of the kernel is the test's. */
const writer = {
  differences: [] as ChainDifference[],
  isUnhooked: async () => true,
  recognises: async () => false,
  wanted: { nat: new Map(), filter: new Map() } as Ruleset,
  sync: async (changes: readonly TableChange[]) => {
    writer.wanted = applyChanges(writer.wanted, changes)
    return report
  },
  write: async (changes: readonly TableChange[]) => {
    writer.wanted = applyChanges(writer.wanted, changes)
    if (isLocked) throw new RulesError('lock-busy', 'the lock is held')
    const isRefused =
      refused !== undefined && changes.some(({ set }) => JSON.stringify([...set]).includes(`"${refused}"`))
    if (isRefused) throw new RulesError('restore-failed', 'no such target')
    return report
  },
  preview: async () => writer.differences,
  countersOf: async (_table: string, chain: string) => ({ packets: chain.startsWith('PLAT-SEP') ? 7 : 0, bytes: 420 }),
}

const policyWriter = { preview: async (): Promise<readonly ChainDifference[]> => [] }

const state = new LiveNodeState(silentLogger)
const applied = new AppliedRevisions(state)
applied.register('proxy')
const settings: ProxySettings = {
  nodeName: 'n1',
  family: 'IPv4',
  zone: 'a',
  localTraffic: { kind: 'source', cidr: cidr('10.244.0.0/16') },
}
const plane = new ProxyPlane({
  state,
  mode: new IptablesMode('IPv4', writer),
  applied,
  settings,
  metrics: createProxyMetrics(createMetrics())('IPv4'),
  log: silentLogger,
})

function listObjects(): void {
  const local = { internalTrafficPolicy: 'Local', clusterIP: '10.96.0.12' }
  const services = [
    wireService('web', '1'),
    wireService('empty', '2', { clusterIP: '10.96.0.11' }),
    wireService('here', '3', local),
    wireService('renamed', '4', { clusterIP: '10.96.0.13' }),
    wireService('unready', '5', { clusterIP: '10.96.0.14' }),
    {
      ...wireService('balanced', '6', {
        clusterIP: '10.96.0.15',
        type: 'LoadBalancer',
        externalTrafficPolicy: 'Local',
        loadBalancerSourceRanges: ['203.0.113.0/25'],
        ports: [{ name: 'http', port: 80, nodePort: 30080 }],
      }),
      status: { loadBalancer: { ingress: [{ ip: '198.51.100.9', ipMode: 'Proxy' }] } },
    },
    wireService('names', '7', { clusterIP: 'None' }),
    wireService('alias', '8', { type: 'ExternalName', externalName: 'www.example.org', clusterIP: undefined }),
    wireService('others', '9', { clusterIP: '10.96.0.16' }, { [dialect.labels.serviceProxyName]: 'mesh' }),
    wireService('six', '10', { clusterIP: 'fd00:96::1' }),
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
    wireSlice('renamed-1', 'renamed', '6', { endpoints, ports: [{ name: 'web', port: 8080, protocol: 'TCP' }] }),
    wireSlice('unready-1', 'unready', '7', { endpoints: endpoints.slice(2, 3) }),
    wireSlice('balanced-1', 'balanced', '8', { endpoints: endpoints.slice(1, 2) }),
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
      queries: proxyQuestions({
        families: [{ plane, rules: { writer, counters: writer } }],
        policyRules: [{ family: 'IPv4', writer: policyWriter }],
        interfaceOf: async (source) => (source.startsWith('10.244.') ? 'cni0' : 'ext0'),
      }),
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
    assert.match(stdout, /nat PLAT-SERVICES rule \d+: -d 10\.96\.0\.10\/32 -p tcp -m tcp --dport 80 -j PLAT-SVC-/)
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
    assert.match(other.stdout, /At 10\.96\.0\.10 there are only 80\/TCP \(default\/web:http\)\./)
    const pinged = await platnet('explain', '10.244.0.77', '10.244.1.2/icmp')
    assert.match(pinged.stdout, /^Rules of Services take TCP, UDP and SCTP only/)
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

  test('what is refused is said with what would let it in', async () => {
    const cases: readonly (readonly [target: string, words: RegExp])[] = [
      ['10.96.0.11:80', /default\/empty:http: connections are refused: no EndpointSlice belongs to it/],
      ['10.96.0.12:80', /what goes to its cluster IP is dropped: traffic policy Local, and no endpoint is on n1\./],
      ['10.96.0.12:80', /10\.244\.1\.2:8080 \(on n2\): not used: traffic policy Local, and it is not on this node/],
      ['10.96.0.13:80', /its EndpointSlices have no TCP port "http", only a TCP port "web"/],
      ['10.96.0.14:80', /none of its endpoints is ready, and none that terminates still serves/],
      ['10.96.0.14:80', /10\.244\.1\.3:8080 \(on n2\): not used: it is not ready/],
      [
        '10.96.0.14:30080',
        /is the node port of default\/balanced:http, but 10\.96\.0\.14 is no address of this node\./,
      ],
      ['127.0.0.1:30080', /is the node port of default\/balanced:http, but node ports are not open on loopback\./],
      ['198.51.100.9:80', /load balancer's address of default\/balanced, which no node answers: its ipMode is Proxy/],
      ['10.244.1.2:8080', /It is an endpoint of default\/web:http, asked directly\./],
    ]
    for (const [target, words] of cases) assert.match((await platnet('explain', '203.0.113.9', target)).stdout, words)
    const balanced = await platnet('explain', 'service', 'default/balanced')
    assert.match(
      balanced.stdout,
      /! what comes from outside is dropped: traffic policy Local, and no endpoint is on n1/,
    )
    assert.match(balanced.stdout, /load balancer 198\.51\.100\.9 not here \(ipMode Proxy/)
    assert.match(balanced.stdout, /! its load balancer lets in 203\.0\.113\.0\/25 only/)
  })

  test('a Service without a frontend is shown as not served, with the reason', async () => {
    const cases = {
      names: /not served: it is headless: its name leads straight to the endpoints/,
      alias: /not served: it is of type ExternalName: its name leads to www\.example\.org/,
      others: /not served: its label service-proxy-name or headless leaves it to another proxy or to none/,
      six: /not served: it has no cluster IP of IPv4/,
    }
    for (const [name, words] of Object.entries(cases))
      assert.match((await platnet('explain', 'service', `default/${name}`)).stdout, words)
  })

  test('a Service that the kernel refuses is said to be set aside', async () => {
    refused = '10.244.0.66'
    const slice = wireSlice('web-2', 'web', '20', { endpoints: [{ addresses: [refused], nodeName: 'n2' }] })
    state.upsert('endpointslices', readObject('endpointslices', slice, dialect))
    await until('it is set aside', () => plane.view.status().setAside.length === 1, 30_000)
    const words =
      /it is set aside since \S+ and keeps the rules it had, as the kernel refuses its new ones .*: no such target/
    assert.match((await platnet('explain', 'service', 'default/web')).stdout, words)
    assert.match((await platnet('explain', '203.0.113.9', '10.96.0.10:80')).stdout, words)
    refused = undefined
    state.remove('endpointslices', 'default/web-2', '21')
    await until('it is written', () => plane.view.status().setAside.length === 0, 30_000)
  })

  test('that a write has failed is said with what should be', async () => {
    isLocked = true
    const slice = wireSlice('empty-1', 'empty', '30', { endpoints: [{ addresses: ['10.244.1.9'], nodeName: 'n2' }] })
    state.upsert('endpointslices', readObject('endpointslices', slice, dialect))
    await until('it has failed', () => plane.health().level === 'degraded', 30_000)
    const { stdout } = await platnet('explain', '203.0.113.9', '10.96.0.11:80')
    isLocked = false
    assert.match(stdout, /The kernel may hold older rules: the last write failed: the lock is held\./)
    await until('it is written', () => plane.health().level === 'ok', 30_000)
  })

  test('what cannot be asked is said so', async () => {
    const nonsense = await platnet('explain', '10.244.0.77', 'web')
    assert.equal(nonsense.code, 2)
    assert.match(nonsense.stderr, /expected ADDRESS:PORT/)
    const mixed = await platnet('explain', '10.244.0.77', '[fd00::1]:80')
    assert.match(mixed.stderr, /must be of one IP family/)
    const unknown = await platnet('explain', 'service', 'default/none')
    assert.match(unknown.stderr, /knows no Service default\/none/)
    const misspelt = await platnet('explain', 'service', 'default/wbe')
    assert.match(misspelt.stderr, /knows no Service default\/wbe; did you mean default\/web\?/)
    const noAddress = await platnet('explain', 'no-address', '10.96.0.10:80')
    assert.match(noAddress.stderr, /source: expected an IP address/)
    assert.deepEqual([unknown.code, mixed.code, noAddress.code], [1, 2, 2])
    assert.equal(noAddress.stderr, 'error: source: expected an IP address or NAMESPACE/NAME of a pod\n')
    const strange = await platnet('explain', 'service', 'default/quite-another')
    assert.equal(strange.stderr, 'error: this node knows no Service default/quite-another\n')
  })

  test('an unknown form of output is refused', async () => {
    for (const args of [['plan'], ['status'], ['explain', 'service', 'default/web']]) {
      const { code, stdout, stderr } = await platnet(...args, '-o', 'xml')
      assert.deepEqual([code, stdout], [2, ''])
      assert.match(stderr, /Allowed choices are text, wide, json, yaml/)
    }
  })

  test('an agent without the proxy says that it has none', async () => {
    const questions = proxyQuestions({ families: [] })
    const service = await questions['/explain/service'](new URLSearchParams())
    assert.deepEqual(service, { status: 503, body: { error: 'this agent runs without the proxy (--components)' } })
    assert.match(JSON.stringify(await questions['/plan']()), /503.*without the proxy and without network policies/)
  })

  test('an address of a Service without a frontend is explained as not served', async () => {
    const { stdout } = await platnet('explain', '203.0.113.9', '10.96.0.16:80')
    assert.match(
      stdout,
      /10\.96\.0\.16 is an address of default\/others, which is not served here: its label service-proxy-name or headless leaves it to another proxy or to none\./,
    )
  })

  test('of two Services with one external address it is said which one gets it', async () => {
    const external = (name: string, clusterIP: string) =>
      readObject('services', wireService(name, '40', { clusterIP, externalIPs: ['198.51.100.9'] }), dialect)
    const slice = (name: string, address: string) =>
      readObject(
        'endpointslices',
        wireSlice(`${name}-1`, name, '41', { endpoints: [{ addresses: [address] }] }),
        dialect,
      )
    for (const [name, last] of [
      ['rival-b', 21],
      ['rival-a', 20],
    ] as const) {
      state.upsert('services', external(name, `10.96.0.${last}`))
      state.upsert('endpointslices', slice(name, `10.244.9.${last}`))
    }
    await until('both are written', () => applied.report().planes['proxy'] === state.revision, 30_000)
    const { stdout } = await platnet('explain', '10.244.0.77', '198.51.100.9:80')
    assert.match(stdout, /an external IP of default\/rival-a:http\./)
    assert.match(stdout, /an external IP of default\/rival-b:http\./)
    assert.match(
      stdout,
      /The first Service by name that has endpoints gets it; the rules of the others are never reached\./,
    )
    assert.match(stdout, /It is sent to the endpoint 10\.244\.9\.20:8080/)
  })

  test('where interfaces identify pods, a packet arrives on the interface of the route to its source', async () => {
    plane.configure({ ...settings, localTraffic: { kind: 'interface', name: 'cni', isPrefix: true } })
    const explain = async (source: string, ...more: string[]) =>
      (await platnet('explain', source, '10.96.0.10:80', ...more)).stdout
    const isPlanned = async () => (await explain('10.244.0.77')).includes('its source 10.244.0.77 kept')
    await untilAsync('it is planned anew', isPlanned, 30_000)
    assert.match(await explain('10.244.0.77'), /It is taken to come in by cni0\./)
    assert.match(await explain('203.0.113.9'), /its source replaced by an address of this node/)
    assert.match(await explain('203.0.113.9', '--in-interface', 'cni9'), /its source 203\.0\.113\.9 kept/)
  })

  test('plan shows differences as a diff and says with its exit code that there are some', async () => {
    const same = await platnet('plan')
    const sound = ['Services', 'network policies'].map(
      (of) => `IPv4 ${of}: the kernel holds the rules that it should\n`,
    )
    assert.deepEqual([same.code, same.stdout], [0, sound.join('')])
    writer.differences = [
      { table: 'nat', chain: 'PLAT-SVC-A', problem: 'different', wanted: ['-j PLAT-SEP-A'], found: ['-j PLAT-SEP-B'] },
    ]
    const other = await platnet('plan')
    assert.deepEqual(
      [other.code, other.stdout],
      [3, `IPv4 nat PLAT-SVC-A: different\n  - -j PLAT-SEP-B\n  + -j PLAT-SEP-A\n${sound[1]}`],
    )
    writer.differences = [{ table: 'nat', chain: 'PLAT-OLD', problem: 'unwanted', wanted: [], found: [] }]
    assert.equal(
      (await platnet('plan')).stdout,
      `IPv4 nat PLAT-OLD: unwanted\n    without rules; it stays while rules of other programs jump to it\n${sound[1]}`,
    )
    writer.differences = []
    policyWriter.preview = async () => [
      { table: 'mangle', chain: 'PLAT-NWI-A', problem: 'missing', wanted: ['-j DROP'], found: [] },
      { table: 'ipset', chain: 'PLAT-NP-II4', problem: 'different', wanted: ['10.244.0.1'], found: [] },
    ]
    const policies = await platnet('plan')
    assert.equal(policies.code, 3)
    assert.equal(
      policies.stdout,
      `${sound[0]}IPv4 mangle PLAT-NWI-A: missing\n  + -j DROP\nIPv4 ipset PLAT-NP-II4: different\n  + 10.244.0.1\n`,
    )
  })

  test('plan shows the rules of Services while those of policies are not known, and says why', async () => {
    policyWriter.preview = () => Promise.reject(new RulesError('not-synced', 'the rules are still being planned'))
    const { code, stdout } = await platnet('plan')
    assert.equal(code, 3)
    assert.match(
      stdout,
      /^IPv4 Services: the kernel holds the rules that it should\nIPv4 network policies: it is not known what differs: .*still being planned/,
    )
  })
})
