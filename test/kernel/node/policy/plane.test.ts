import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skipReason } from '../../../helpers/netns.ts'
import { cornerNamespaces, cornerPods, policiesOf } from '../../../helpers/policy-corners.ts'
import { until, untilAsync } from '../../../helpers/until.ts'
import { checkPackets } from './flow-checks.ts'
import { type ModelCluster, withModelCluster } from './model-cluster.ts'
import { type ModelPod, PolicyPlanes } from './policy-planes.ts'

const skip = skipReason('iptables-nft', 'ip6tables-nft', 'ipset', 'conntrack', 'perl')

const a = { podSelector: { matchLabels: { pod: 'a' } } }
const b = { podSelector: { matchLabels: { pod: 'b' } } }
const ingressOfA = (...ingress: object[]) => ({ ...a, policyTypes: ['Ingress'], ingress })

const modelPods: readonly ModelPod[] = cornerPods.map(({ key, labels, ips, ports }) => ({
  key,
  labels,
  ips,
  node: key.startsWith('z/') ? 'node2' : 'node1',
  details: { ports },
}))

function podNamed(key: string): ModelPod {
  return modelPods.find((pod) => pod.key === key) ?? assert.fail(key)
}

/** Puts these in the place of all policies, and waits until the kernel has them. */
async function replacePolicies(planes: PolicyPlanes, specs: Readonly<Record<string, object>>): Promise<void> {
  const [node] = planes.nodes
  const before = [...(node?.state.policies() ?? [])].map(({ key }) => [key, undefined] as const)
  planes.setPolicies(new Map([...before, ...policiesOf(specs).map((policy) => [policy.key, policy] as const)]))
  await planes.whenApplied()
}

async function withPlanes(body: (model: ModelCluster, planes: PolicyPlanes) => Promise<void>): Promise<void> {
  await withModelCluster(async (model) => {
    const planes = await PolicyPlanes.start(model)
    try {
      planes.setNamespaces(new Map(Object.entries(cornerNamespaces)))
      planes.setPods(new Map(modelPods.map((pod) => [pod.key, pod])))
      await body(model, planes)
    } finally {
      await planes.stop()
    }
  })
}

const families = [
  ['10.244.0.1', '10.244.0.2', '10.244.2.1'],
  ['fd00::1', 'fd00::2', 'fd00:2::1'],
] as const

test(
  'connections go on while they are allowed and end when they are not, and only those',
  {
    skip,
    timeout: 120_000,
  },
  () =>
    withPlanes(async (model, planes) => {
      planes.completeLists()
      await planes.whenApplied()
      for (const [xa] of families)
        for (const protocol of ['TCP', 'UDP'] as const) model.prober.listen('x/a', protocol, xa, 80)
      const open = (from: string, name: 0 | 1) =>
        (['TCP', 'UDP'] as const).map((protocol) =>
          model.prober.openFlow({ from, destination: families[name][0], protocol, port: 80 }),
        )
      const flows = { near: [...open('x/b', 0), ...open('x/b', 1)], far: [...open('z/a', 0), ...open('z/a', 1)] }
      const answers = async (which: keyof typeof flows, withinMs: number) => {
        const lines: string[] = []
        for (const flow of flows[which]) lines.push((await flow.ask(withinMs)).split(' ')[0] ?? '')
        return new Set(lines)
      }
      const areAll = async (which: keyof typeof flows, line: string) => {
        const found = await answers(which, line === '-' ? 100 : 4_000)
        return found.size === 1 && found.has(line)
      }
      assert.ok((await areAll('near', 'x/a')) && (await areAll('far', 'x/a')), 'all are open')

      await replacePolicies(planes, { 'x/p': ingressOfA({ from: [{ podSelector: {}, namespaceSelector: {} }] }) })
      assert.ok((await areAll('near', 'x/a')) && (await areAll('far', 'x/a')), 'a policy that allows them cuts none')

      await replacePolicies(planes, { 'x/p': ingressOfA({ from: [b] }) })
      await untilAsync('those that are not allowed end', () => areAll('far', '-'))
      model.prober.push('x/a')
      const [farTcp] = flows.far
      assert.equal(await farTcp?.ask(1_500), '-', 'what the server sends does not revive them')
      assert.ok(await areAll('near', 'x/a'), 'those that are allowed go on')

      planes.setPods(new Map([['x/b', { ...podNamed('x/b'), labels: { pod: 'other' } }]]))
      await planes.whenApplied()
      await untilAsync('those of a pod that lost its label end', () => areAll('near', '-'))

      planes.setPods(new Map([['x/b', podNamed('x/b')]]))
      await planes.whenApplied()
      await untilAsync('what is allowed again goes on', () => areAll('near', 'x/a'), 20_000)
      assert.ok(await areAll('far', '-'))
    }),
)

test(
  'a pod that terminates stays selected, one that has finished does not, and its address inherits nothing',
  {
    skip,
    timeout: 120_000,
  },
  () =>
    withPlanes(async (model, planes) => {
      planes.completeLists()
      await replacePolicies(planes, {
        'x/p': ingressOfA({ from: [b] }),
        'y/p': { ...a, ingress: [{ from: [{ namespaceSelector: { matchLabels: { ns: 'x' } }, ...b }] }] },
      })
      const check = (title: string, allowed: readonly string[], denied: readonly string[]) =>
        checkPackets(model, { title, allowed, denied })
      await check('at first', ['x/b > x/a TCP 80', 'x/b > y/a UDP 80'], ['x/c > x/a TCP 80', 'x/a > y/a TCP 80'])

      const setPod = async (key: string, pod: ModelPod | undefined) => {
        planes.setPods(new Map([[key, pod]]))
        await planes.whenApplied()
      }
      await setPod('x/a', { ...podNamed('x/a'), details: { isTerminating: true } })
      await check(
        'while it terminates',
        ['x/b > x/a TCP 80', 'x/b/6 > x/a/6 TCP 80'],
        ['x/c > x/a TCP 80', 'z/a > x/a UDP 80'],
      )
      await setPod('x/a', { ...podNamed('x/a'), details: { isOutside: true } })
      await check('after it has finished', ['x/c > x/a TCP 80', 'z/a/6 > x/a/6 UDP 80'], [])
      await setPod('x/a', podNamed('x/a'))
      await check('back again', ['x/b > x/a TCP 80'], ['x/c > x/a TCP 80'])

      model.prober.listen('y/a', 'TCP', '10.244.1.1', 80)
      const flow = model.prober.openFlow({ from: 'x/b', destination: '10.244.1.1', protocol: 'TCP', port: 80 })
      assert.match(await flow.ask(4_000), /^y\/a /)
      const heir = { ...podNamed('x/b'), key: 'x/heir', labels: { pod: 'heir' } }
      planes.setPods(
        new Map([
          ['x/b', undefined],
          ['x/heir', heir],
        ]),
      )
      await planes.whenApplied()
      await check(
        'its address is another pod now',
        ['x/b > x/c TCP 80'],
        ['x/b > x/a TCP 80', 'x/b > y/a UDP 80', 'x/b/6 > x/a/6 TCP 80'],
      )
      const left = await model.nodes.node1.exec('conntrack', '-L', '-s', '10.244.0.2', '-d', '10.244.1.1')
      assert.equal(left, '', 'no connection that the pod before opened is known any more')
      flow.close()

      planes.setPods(
        new Map([
          ['x/heir', undefined],
          ['x/b', { ...podNamed('x/b'), details: { isTerminating: true } }],
        ]),
      )
      planes.setPods(new Map([['x/heir', { ...heir, details: { createdAtMs: 5 } }]]))
      await planes.whenApplied()
      await check(
        'the pod that had it before still terminates',
        ['x/b > x/c TCP 80'],
        ['x/b > x/a TCP 80', 'x/b > y/a TCP 80'],
      )
      const [node1] = planes.nodes
      await node1?.admit('x/newer', 'c1', ['10.244.0.2', 'fd00::2'])
      await check(
        'an announced pod has the address',
        ['10.244.0.254 > x/b TCP 80'],
        ['x/b > x/c TCP 80', 'x/c > x/b UDP 80'],
      )
    }),
)

/** Sends one datagram from a port, whether or not a connection is known. */
async function push(model: ModelCluster, from: string, fromPort: number, to: string): Promise<void> {
  const send = `use Socket; socket(S, AF_INET, SOCK_DGRAM, 0); bind(S, sockaddr_in($ARGV[0], INADDR_ANY)) or die $!;
    send(S, 'push', 0, sockaddr_in(${caughtPort}, inet_aton($ARGV[1]))) or die $!`
  await model.places.get(from)?.exec('perl', '-e', send, String(fromPort), to)
}

const [caughtPort, serverPort] = [9_999, 8_053]
const barredOn = (model: ModelCluster, node: 'node1' | 'node2') =>
  model.nodes[node].exec('ipset', 'save', 'PLAT-NP-CUT4').then((text) => /^add .*$/m.exec(text)?.[0] ?? '')

test(
  'what a server sends of a cut connection begins none until its client is allowed again, also after a restart',
  { skip, timeout: 120_000 },
  () =>
    withPlanes(async (model, planes) => {
      const [server, client] = ['10.244.0.1', '10.244.2.1'] as const
      planes.completeLists()
      await planes.whenApplied()
      model.prober.catch('z/a', client, caughtPort)
      const flow = model.prober.openFlow({ from: 'z/a', destination: server, protocol: 'UDP', port: serverPort })
      await flow.ask(50)
      await replacePolicies(planes, { 'x/p': ingressOfA({ from: [b] }) })
      await untilAsync('it is cut', async () =>
        (await barredOn(model, 'node1')).includes(`${server},udp:${serverPort},${client}`),
      )
      await push(model, 'x/a', serverPort, client)
      assert.equal((await model.prober.caught()).size, 0)
      await push(model, 'x/a', serverPort + 1, client)
      assert.equal((await model.prober.caught()).get('push'), 1, 'from another port it may')
      await planes.stop()

      const next = await PolicyPlanes.start(model)
      try {
        next.setNamespaces(new Map(Object.entries(cornerNamespaces)))
        next.setPods(new Map(modelPods.map((pod) => [pod.key, pod])))
        next.setPolicies(
          new Map(policiesOf({ 'x/p': ingressOfA({ from: [b] }) }).map((policy) => [policy.key, policy])),
        )
        next.completeLists()
        await next.whenApplied()
        assert.notEqual(await barredOn(model, 'node1'), '', 'it is not allowed yet')
        await replacePolicies(next, { 'x/p': ingressOfA({}) })
        assert.equal(await barredOn(model, 'node1'), '')
        await push(model, 'x/a', serverPort, client)
        assert.equal((await model.prober.caught()).get('push'), 1)
      } finally {
        await next.stop()
      }
    }),
)

test(
  'what servers of a pod that has left still send begins no connection that the next pod at its address may not open',
  { skip, timeout: 120_000 },
  () =>
    withPlanes(async (model, planes) => {
      const [server, client] = ['10.244.2.1', '10.244.0.2'] as const
      planes.completeLists()
      await replacePolicies(planes, {
        'x/p': { podSelector: { matchLabels: { pod: 'heir' } }, policyTypes: ['Egress'] },
      })
      model.prober.catch('x/b', client, caughtPort)
      const flow = model.prober.openFlow({ from: 'x/b', destination: server, protocol: 'UDP', port: serverPort })
      await flow.ask(50)
      const heir = { ...podNamed('x/b'), key: 'x/heir', labels: { pod: 'heir' } }
      const pods = [
        ['x/b', undefined],
        ['x/heir', heir],
      ] as const
      planes.setPods(new Map(pods))
      await planes.whenApplied()
      await push(model, 'z/a', serverPort, client)
      assert.equal((await model.prober.caught()).size, 0)
      await push(model, 'z/a', serverPort + 1, client)
      assert.equal((await model.prober.caught()).get('push'), 1, 'the new pod may be reached')
      assert.equal(await model.nodes.node1.exec('conntrack', '-L', '-s', client, '-d', server), '')
    }),
)

test('connections without ports end when they are not allowed, and only those', { skip, timeout: 120_000 }, () =>
  withPlanes(async (model, planes) => {
    planes.completeLists()
    await planes.whenApplied()
    const ends = [
      ['10.244.0.2', '10.244.0.1', 'icmp'],
      ['10.244.2.1', '10.244.0.1', 'icmp'],
      ['fd00:2::1', 'fd00::1', 'icmpv6'],
    ] as const
    const [near, far, far6] = ends
    const outcomes = await model.probe(
      ends.map(([source, destination]) => ({ source, destination, protocol: 'other', port: 0, isWanted: true })),
    )
    assert.deepEqual(outcomes, ['echo', 'echo', 'echo'])
    const isTracked = async ([source, destination, protocol]: (typeof ends)[number]) => {
      const family = protocol === 'icmp' ? 'ipv4' : 'ipv6'
      const args = ['-L', '-f', family, '-p', protocol, '-s', source, '-d', destination]
      return (await model.nodes.node1.exec('conntrack', ...args)) !== ''
    }
    assert.ok((await isTracked(near)) && (await isTracked(far)) && (await isTracked(far6)))
    await replacePolicies(planes, { 'x/p': ingressOfA({ from: [b] }) })
    await untilAsync('they are cut', async () => !(await isTracked(far)) && !(await isTracked(far6)))
    assert.ok(await isTracked(near), 'what is allowed stays')
  }),
)

test(
  'nothing is pretended where bridges pass packets by, and enforcement begins when they no longer do',
  {
    skip,
    timeout: 120_000,
  },
  () =>
    withPlanes(async (model, planes) => {
      const setting = (value: 0 | 1) =>
        model.nodes.node1.exec(
          'sysctl',
          '-qw',
          `net.bridge.bridge-nf-call-iptables=${value}`,
          `net.bridge.bridge-nf-call-ip6tables=${value}`,
        )
      const [node1] = planes.nodes
      assert.ok(node1 !== undefined)
      await setting(0)
      // The plane reads one setting after the other, so one look may see the second alone as changed.
      const bothOff = /bridge-nf-call-iptables is 0.*bridge-nf-call-ip6tables is 0/
      await until('the plane sees both settings', () => bothOff.test(node1.plane.health().message))
      planes.setPolicies(new Map(policiesOf({ 'x/p': ingressOfA() }).map((policy) => [policy.key, policy])))
      planes.completeLists()
      await node1.admit('x/late', 'c1', [])
      assert.match(node1.plane.health().message, /NOT enforced on this node: .*bridge-nf-call-iptables is 0/)
      assert.equal(node1.plane.isEnforcing, false)
      assert.doesNotMatch(await model.nodes.node1.exec('iptables-nft', '-t', 'mangle', '-S'), /PLAT-/)
      await checkPackets(model, { title: 'without rules', allowed: ['x/b > x/a TCP 80', 'y/a > x/a TCP 80'] })
      await setting(1)
      await until('enforcement begins', () => node1.plane.isEnforcing, 10_000)
      await planes.whenApplied()
      await checkPackets(model, {
        title: 'with rules',
        denied: ['x/b > x/a TCP 80', 'y/a > x/a TCP 80', 'z/a/6 > x/a/6 TCP 80'],
      })
      await setting(0)
      await until(
        'the plane says that they do not hold',
        () => /do not hold/.test(node1.plane.health().message),
        10_000,
      )
    }),
)
