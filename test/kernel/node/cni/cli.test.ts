import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { runProgram } from '../../../../src/host/index.ts'
import { bridgeList, CniNode, cniSkipReason, debianPlugins } from '../../../helpers/cni-node.ts'
import { withNetns } from '../../../helpers/netns.ts'
import { launcher } from '../../../helpers/program.ts'

const options = { skip: cniSkipReason(), timeout: 120_000 }

/** `platnet cni …` on that node, with files of the test's own. */
async function platnetCni(
  node: CniNode,
  ...args: string[]
): Promise<{ code: number | undefined; out: string; err: string }> {
  const folders = ['--cni-conf-dir', node.configDir, '--cni-cache-dir', node.cacheDir]
  const bins = ['--cni-bin-dir', `${join(node.folder, 'bin')},${debianPlugins}`]
  const inside = [launcher, 'cni', ...args, ...folders, ...bins]
  const env = { PATH: process.env['PATH'] ?? '', NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' }
  const run = await runProgram('/usr/sbin/ip', ['netns', 'exec', node.netns.name, ...inside], {
    env,
    timeoutMs: 60_000,
    maxOutputBytes: 1e6,
    untrusted: true,
  })
  return { code: run.exitCode, out: run.stdout, err: run.stderr }
}

test('platnet cni gives a namespace a network, checks it, and takes it away', options, (t) =>
  withNetns(async (lab) => {
    const node = await CniNode.create(t, lab)
    node.network('10-plt.conflist', { ...bridgeList(node), disableCheck: true })
    node.network('05-bad.conflist', {})
    const before = await node.traces()
    const { pod } = await node.sandbox('one')
    const listed = await platnetCni(node, 'list')
    assert.match(listed.out, /^default {2}plt {2}1\.\d\.0 {2}bridge, portmap {2}.*10-plt\.conflist$/m)
    assert.match(listed.out, /^skipped {2}.*05-bad\.conflist: name/m)
    assert.match(listed.out, /^plugin {3}host-local {2}.*1\.0\.0/m)
    const added = await platnetCni(node, 'add', pod.name, '--publish', '18080:80', '--pod', 'default/web')
    assert.deepEqual([added.code, added.err], [0, ''])
    assert.equal(JSON.parse(added.out).ips[0].ip, '198.18.7.2')
    assert.match(await pod.exec('ip', 'address', 'show', 'eth0'), /198\.18\.7\.2\/24/)
    assert.match(await node.netns.exec('iptables-save', '-t', 'nat'), /--dport 18080 .*198\.18\.7\.2:80/)
    const checked = await platnetCni(node, 'check', pod.name)
    assert.deepEqual([checked.code, checked.out], [0, 'not checked: disableCheck is set in the list of plt\n'])
    const agent = node.runtime()
    assert.deepEqual((await agent.garbage.collect([])).deleted, [], 'the agent leaves alone what a person added')
    assert.deepEqual((await platnetCni(node, 'del', pod.name)).code, 0)
    assert.deepEqual(await node.traces(), before)
    assert.deepEqual((await platnetCni(node, 'add', pod.name, '--publish', '70000:80')).code, 2)
    const wrong = await platnetCni(node, 'add', '../etc', '--ifname', 'eth0')
    assert.deepEqual([wrong.code, /containerId|netns/.test(wrong.err)], [1, true], wrong.err)
  }),
)

const bridgeSetting = '/proc/sys/net/bridge/bridge-nf-call-iptables'
const noBridge = !existsSync(bridgeSetting) && `needs ${bridgeSetting} (modprobe br_netfilter)`
const doctorOptions = { ...options, skip: options.skip || noBridge }

test('the doctor names what is wrong, repairs what it can, and then reports no problem', doctorOptions, (t) =>
  withNetns(async (lab) => {
    const node = await CniNode.create(t, lab)
    node.network('10-plt.conflist', bridgeList(node))
    const before = await node.traces()
    const { pod } = await node.sandbox('one')
    await platnetCni(node, 'add', pod.name, '--publish', '18080:80')
    await lab.removeOne(pod.name)
    writeFileSync(join(node.cacheDir, 'results/plt-old-eth0'), '')
    mkdirSync(join(node.folder, 'bin'))
    writeFileSync(join(node.folder, 'bin/broken'), '#!/bin/sh\necho hello\n', { mode: 0o755 })
    await node.netns.exec('sysctl', '-qw', 'net.bridge.bridge-nf-call-iptables=0')

    const ill = await platnetCni(node, 'doctor')
    assert.equal(ill.code, 3, ill.err)
    assert.match(ill.out, /^ok {4}the default network is plt at /m)
    assert.match(ill.out, /^ok {4}bridge speaks .*1\.0\.0/m)
    assert.match(ill.out, /^warn {2}the plugin broken \(VERSION\) printed what is not a JSON object/m)
    assert.match(ill.out, /^warn {2}eth0 of cli-plt-[0-9a-f]+ on plt was never undone/m)
    assert.match(ill.out, /^warn {2}.*results\/plt-old-eth0 holds no result/m)
    assert.match(ill.out, /^warn {2}net\/bridge\/bridge-nf-call-iptables is 0/m)
    assert.equal((await node.traces()).addresses.length, 1, 'looking changes nothing')

    rmSync(join(node.folder, 'bin/broken'))
    const repaired = await platnetCni(node, 'doctor', '--fix')
    assert.deepEqual([repaired.code, repaired.err], [0, ''], repaired.out)
    assert.match(repaired.out, /^repaired {2}undid plt\/cli-plt-[0-9a-f]+\/eth0$/m)
    assert.match(repaired.out, /^repaired {2}linked bridge into /m)
    assert.match(repaired.out, /^repaired {2}set net\/bridge\/bridge-nf-call-iptables to 1$/m)
    assert.ok(readdirSync(join(node.folder, 'bin')).includes('platnet-gate'))
    assert.deepEqual(await node.traces(), before)
  }),
)

test('the doctor of a node without anything says what to do', options, (t) =>
  withNetns(async (lab) => {
    const node = await CniNode.create(t, lab)
    const { code, out } = await platnetCni(node, 'doctor')
    assert.equal(code, 3)
    assert.match(out, /^fail {2}there is no usable network\n {6}to repair it: start the agent/m)
  }),
)

test('gc releases what no namespace needs', options, (t) =>
  withNetns(async (lab) => {
    const node = await CniNode.create(t, lab)
    node.network('10-plt.conflist', bridgeList(node))
    const { pod } = await node.sandbox('one')
    await platnetCni(node, 'add', pod.name)
    assert.equal((await platnetCni(node, 'gc')).out, '')
    await lab.removeOne(pod.name)
    assert.match((await platnetCni(node, 'gc')).out, /^undid plt\/cli-plt-[0-9a-f]+\/eth0$/m)
    const { addresses, chains } = await node.traces()
    assert.deepEqual([addresses, chains], [[], []])
  }),
)
