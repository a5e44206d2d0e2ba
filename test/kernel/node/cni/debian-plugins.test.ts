import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { bridgeList, CniNode, cniSkipReason, debianPlugins } from '../../../helpers/cni-node.ts'
import { type TestNetns, withNetns } from '../../../helpers/netns.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'
import { untilAsync } from '../../../helpers/until.ts'

const options = { skip: cniSkipReason(), timeout: 120_000 }

const server = "require('http').createServer((_, answer) => answer.end('pod')).listen(80)"

async function serve(pod: TestNetns): Promise<void> {
  await pod.start(process.execPath, ['-e', server])
  const answers = () =>
    pod.exec('curl', '-sS', 'http://127.0.0.1/').then(
      () => true,
      () => false,
    )
  await untilAsync('the server in the pod answers', answers, 30_000)
}

for (const cniVersion of ['0.3.1', '0.4.0', '1.0.0']) {
  test(`ADD and DEL with bridge, host-local and portmap at ${cniVersion} leave nothing behind`, options, (t) =>
    withNetns(async (lab) => {
      const node = await CniNode.create(t, lab)
      node.network('10-plt.conflist', bridgeList(node, cniVersion))
      const runtime = node.runtime()
      const before = await node.traces()
      const portMappings = [{ hostPort: 18080, containerPort: 80, protocol: 'tcp' }] as const
      const { pod, sandbox } = await node.sandbox('one', { portMappings })
      const result = await runtime.add(sandbox)
      assert.deepEqual(
        result.ips.map(({ ip, prefixLength, gateway }) => [ip, prefixLength, gateway]),
        [['198.18.7.2', 24, '198.18.7.1']],
      )
      assert.equal(result.interfaces[result.ips[0]?.interface ?? -1]?.name, 'eth0')
      await serve(pod)
      assert.equal(await node.netns.exec('curl', '-sS', 'http://198.18.7.2/'), 'pod')
      assert.equal(await node.netns.exec('curl', '-sS', 'http://127.0.0.1:18080/'), 'pod', 'by hostPort')
      assert.equal(await pod.exec('curl', '-sS', 'http://198.18.7.1:18080/'), 'pod', 'to itself')
      const during = await node.traces()
      assert.deepEqual([during.addresses.length, during.results.length, during.links.length], [1, 1, 1])
      assert.match(await node.netns.exec('iptables-save', '-t', 'nat'), /--dport 18080 .*198\.18\.7\.2:80/)
      await runtime.del(sandbox)
      await runtime.del(sandbox)
      assert.deepEqual(await node.traces(), before)
    }),
  )
}

test('a DEL whose bridge was killed at its deadline is remembered, and the next one leaves nothing', options, (t) =>
  withNetns(async (lab) => {
    const node = await CniNode.create(t, lab)
    node.network('10-plt.conflist', bridgeList(node))
    const before = await node.traces()
    const { sandbox } = await node.sandbox('one', {
      portMappings: [{ hostPort: 18080, containerPort: 80, protocol: 'tcp' }],
    })
    await node.runtime().add(sandbox)
    const folder = makeTemporaryFolder(t)
    writeFileSync(
      join(folder, 'bridge'),
      `#!/bin/sh\n[ $CNI_COMMAND != DEL ] || sleep 600\nexec ${debianPlugins}/bridge\n`,
    )
    chmodSync(join(folder, 'bridge'), 0o755)
    const slow = node.runtime({ binDirs: [folder, debianPlugins], pluginTimeoutMs: 1000 })
    await assert.rejects(slow.del(sandbox), { message: /the plugin bridge \(DEL\) was killed after 1000 ms/ })
    assert.deepEqual([(await node.traces()).results.length, await slow.isRemembered(sandbox)], [1, true])
    await node.runtime().del(sandbox)
    assert.deepEqual(await node.traces(), before)
  }),
)

test(
  'a full range is reported in the words of the plugin, and leaves no interface that hides it the next time',
  options,
  (t) =>
    withNetns(async (lab) => {
      const node = await CniNode.create(t, lab)
      const ipam = { type: 'host-local', dataDir: node.ipamDir, ranges: [[{ subnet: '198.18.7.0/30' }]] }
      node.network('10-plt.conflist', {
        cniVersion: '1.0.0',
        name: 'plt',
        plugins: [{ type: 'bridge', bridge: 'cni-plt', isGateway: true, ipam }],
      })
      const runtime = node.runtime()
      await runtime.add((await node.sandbox('one')).sandbox)
      const { sandbox } = await node.sandbox('two')
      for (const _ of ['first', 'second']) {
        await assert.rejects(runtime.add(sandbox), {
          code: 'plugin-failed',
          message: /no IP addresses available/,
          remedy: /"platnet cni doctor" shows addresses that are held for pods that are gone/,
        })
      }
      assert.equal((await node.traces()).addresses.length, 1)
      node.network('10-plt.conflist', bridgeList(node))
      await assert.rejects(runtime.add(sandbox), {
        message: /already has an IP address different from/,
        remedy: /the bridge cni-plt has the old one: put the old one back, or .*"ip link delete cni-plt"/,
      })
      assert.equal((await node.traces()).addresses.length, 1, 'the pod that runs keeps its network')
    }),
)

test("a version that Debian's plugins do not speak is named at loading; one they do is found", options, (t) =>
  withNetns(async (lab) => {
    const node = await CniNode.create(t, lab)
    node.network('10-new.conflist', bridgeList(node, '1.1.0'))
    node.network('20-both.conflist', { ...bridgeList(node, '1.1.0'), cniVersions: ['0.4.0', '1.0.0', '1.1.0'] })
    const { networks, skipped } = await node.runtime().networks()
    const spoken = networks.map(({ cniVersion }) => cniVersion)
    // Debian 12 has 1.1.1, which stops at 1.0.0; later ones speak 1.1.0 and skip nothing.
    if (skipped.length > 0) {
      assert.match(skipped[0]?.reason ?? '', /10-new.conflist: it declares 1.1.0, but bridge speaks .*1\.0\.0/)
      assert.deepEqual(spoken, ['1.0.0'])
    } else assert.deepEqual(spoken, ['1.1.0', '1.1.0'])
  }),
)

test('CHECK finds a pod as it was made, and a missing address', options, (t) =>
  withNetns(async (lab) => {
    const node = await CniNode.create(t, lab)
    const { plugins, ...list } = bridgeList(node) as { plugins: object[] }
    node.network('10-plt.conflist', { ...list, plugins: plugins.slice(0, 1) })
    const runtime = node.runtime()
    const { pod, sandbox } = await node.sandbox('one')
    await runtime.add(sandbox)
    await runtime.check(sandbox)
    await pod.exec('ip', 'address', 'flush', 'dev', 'eth0')
    await assert.rejects(runtime.check(sandbox), { code: 'plugin-failed' })
  }),
)
