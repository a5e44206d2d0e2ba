import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { CniNode, cniSkipReason, debianPlugins } from '../../../helpers/cni-node.ts'
import { withNetns } from '../../../helpers/netns.ts'

const options = { skip: cniSkipReason(), timeout: 120_000 }

interface Chain {
  /** The plugins that this list shows at work. */
  readonly shows: readonly string[]
  readonly plugins: (node: CniNode) => readonly object[]
  /** `ip` commands that prepare the node. */
  readonly prepare?: readonly string[]
  readonly ifName?: string
  /** The kind of link that the kernel must know, as `ip` names it with its options. */
  readonly kind?: string
  /** Without CHECK: the plugin cannot, or the kernel tells it something else. */
  readonly withoutCheck?: true
  /** The plugin itself refuses a second DEL. */
  readonly deletesOnce?: true
}

const hostLocal = (node: CniNode) => ({
  type: 'host-local',
  dataDir: node.ipamDir,
  ranges: [[{ subnet: '198.18.7.0/24' }]],
})
const fixed = { type: 'static', addresses: [{ address: '198.18.7.9/24' }] }
const bridge = (node: CniNode) => ({ type: 'bridge', bridge: 'cni-plt', ipam: hostLocal(node) })
const device = ['link add plt-d type veth peer name plt-e', 'link set plt-d up'] as const

const chains: readonly Chain[] = [
  { shows: ['loopback'], plugins: () => [{ type: 'loopback' }], ifName: 'lo' },
  { shows: ['bridge', 'static'], plugins: () => [{ type: 'bridge', bridge: 'cni-plt', ipam: fixed }] },
  { shows: ['ptp', 'host-local'], plugins: (node) => [{ type: 'ptp', ipMasq: true, ipam: hostLocal(node) }] },
  {
    shows: ['macvlan'],
    kind: 'macvlan',
    prepare: device,
    plugins: () => [{ type: 'macvlan', master: 'plt-d', ipam: fixed }],
  },
  {
    shows: ['ipvlan'],
    kind: 'ipvlan',
    prepare: device,
    plugins: () => [{ type: 'ipvlan', master: 'plt-d', ipam: fixed }],
  },
  {
    shows: ['vlan'],
    kind: 'vlan id 7',
    prepare: device,
    plugins: () => [{ type: 'vlan', master: 'plt-d', vlanId: 7, ipam: fixed }],
  },
  {
    shows: ['host-device'],
    prepare: device,
    plugins: () => [{ type: 'host-device', device: 'plt-d', ipam: fixed }],
    deletesOnce: true,
  },
  { shows: ['tuning'], plugins: (node) => [bridge(node), { type: 'tuning', mtu: 1400 }] },
  { shows: ['sbr'], plugins: (node) => [bridge(node), { type: 'sbr' }], withoutCheck: true, deletesOnce: true },
  { shows: ['firewall'], plugins: (node) => [bridge(node), { type: 'firewall', backend: 'iptables' }] },
  {
    shows: ['bandwidth'],
    plugins: (node) => [bridge(node), { type: 'bandwidth', capabilities: { bandwidth: true } }],
  },
  {
    shows: ['portmap'],
    plugins: (node) => [bridge(node), { type: 'portmap', capabilities: { portMappings: true } }],
    withoutCheck: true,
  },
]

async function lacks(node: CniNode, kind: string): Promise<boolean> {
  const added = await node.netns
    .exec('ip', 'link', 'add', 'link', 'plt-d', 'name', 'plt-t', 'type', ...kind.split(' '))
    .then(
      () => true,
      () => false,
    )
  if (added) await node.netns.exec('ip', 'link', 'delete', 'plt-t')
  return !added
}

for (const { shows, plugins, prepare = [], ifName = 'eth0', kind, withoutCheck, deletesOnce } of chains) {
  test(`ADD, CHECK and DEL with ${shows.join(' and ')}`, options, (t) =>
    withNetns(async (lab) => {
      const node = await CniNode.create(t, lab)
      for (const command of prepare) await node.netns.exec('ip', ...command.split(' '))
      if (kind !== undefined && (await lacks(node, kind))) return t.skip(`this kernel has no ${kind} links`)
      node.network('10-plt.conflist', {
        cniVersion: '1.0.0',
        name: 'plt',
        disableCheck: withoutCheck === true,
        plugins: plugins(node),
      })
      const runtime = node.runtime()
      const before = await node.traces()
      const { pod, sandbox } = await node.sandbox('one', {
        ifName,
        portMappings: [{ hostPort: 18080, containerPort: 80, protocol: 'tcp' }],
        bandwidth: { ingressRate: 1_000_000, ingressBurst: 1_000_000 },
      })
      const result = await runtime.add(sandbox)
      assert.match(await pod.exec('ip', '-brief', 'link'), new RegExp(`^${ifName}\\b`, 'm'))
      if (ifName !== 'lo') assert.equal(result.ips.length, 1)
      await runtime.check(sandbox)
      await runtime.del(sandbox)
      if (!deletesOnce) await runtime.del(sandbox)
      assert.deepEqual(await node.traces(), before)
      if (ifName !== 'lo') assert.doesNotMatch(await pod.exec('ip', '-brief', 'link'), /^eth0\b/m)
    }),
  )
}

test('dhcp without its daemon says so, and leaves nothing', options, (t) =>
  withNetns(async (lab) => {
    const node = await CniNode.create(t, lab)
    const ipam = { type: 'dhcp', daemonSocketPath: `${node.folder}/absent.sock` }
    node.network('10-plt.conflist', {
      cniVersion: '1.0.0',
      name: 'plt',
      plugins: [{ type: 'bridge', bridge: 'cni-plt', ipam }],
    })
    const before = await node.traces()
    const { sandbox } = await node.sandbox('one')
    await assert.rejects(node.runtime().add(sandbox), { code: 'plugin-failed', message: /dhcp/i })
    assert.deepEqual((await node.traces()).links, before.links)
  }),
)

test("every one of Debian's plugins answers VERSION to the runtime", options, (t) =>
  withNetns(async (lab) => {
    const node = await CniNode.create(t, lab)
    const plugins = await node.runtime().plugins()
    assert.deepEqual(
      plugins.map(({ type }) => type),
      readdirSync(debianPlugins).sort(),
    )
    for (const { type, versions, problem } of plugins) {
      assert.equal(problem, undefined, type)
      assert.ok(versions.includes('1.0.0'), type)
    }
  }),
)
