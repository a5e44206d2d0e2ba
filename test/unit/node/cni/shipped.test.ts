import assert from 'node:assert/strict'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parseCidr } from '../../../../src/model/ip.ts'
import { installShippedNetwork, isNetworkOurs, offerPlugins } from '../../../../src/node/cni/index.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'

const templateDir = resolve(import.meta.dirname, '../../../../cni')

function shipped(t: TestContext, ...cidrs: string[]) {
  const configDir = join(makeTemporaryFolder(t), 'net.d')
  return {
    templateDir,
    configDir,
    podCidrs: cidrs.map((text) => parseCidr(text)).filter((cidr) => cidr !== undefined),
    controlSocket: '/run/test/agent.sock',
  }
}

function readList(configDir: string) {
  return JSON.parse(readFileSync(join(configDir, '10-platnet.conflist'), 'utf8'))
}

test('our list is written where there is none, with the ranges of this node and the socket of its agent', async (t) => {
  const network = shipped(t, '10.244.3.0/24', 'fd00:10:244:3::/64')
  assert.equal(await installShippedNetwork(network), 'written')
  const { plugins, name, disableCheck } = readList(network.configDir)
  assert.deepEqual([name, disableCheck], ['platnet', true])
  assert.deepEqual(
    plugins.map(({ type }: { type: string }) => type),
    ['bridge', 'portmap', 'platnet-gate'],
  )
  assert.deepEqual(plugins[0].ipam, {
    type: 'host-local',
    ranges: [[{ subnet: '10.244.3.0/24' }], [{ subnet: 'fd00:10:244:3::/64' }]],
  })
  assert.equal(plugins[2].socket, '/run/test/agent.sock')
  assert.deepEqual(readdirSync(network.configDir), ['10-platnet.conflist'])
})

test('it is written again when the pod network changes, and only then', async (t) => {
  const network = shipped(t, '10.244.3.0/24')
  const [moved] = shipped(t, '10.244.4.0/24').podCidrs
  assert.equal(await installShippedNetwork(network), 'written')
  assert.equal(await installShippedNetwork(network), 'kept')
  assert.equal(await installShippedNetwork({ ...network, podCidrs: moved ? [moved] : [] }), 'written')
  assert.deepEqual(readList(network.configDir).plugins[0].ipam.ranges, [[{ subnet: '10.244.4.0/24' }]])
})

test('a list of another program is never extended, also where ours stood first', async (t) => {
  const network = shipped(t, '10.244.3.0/24')
  mkdirSync(network.configDir)
  writeFileSync(join(network.configDir, '99-theirs.conf'), '')
  assert.equal(await installShippedNetwork(network), 'others')
  assert.deepEqual(readdirSync(network.configDir), ['99-theirs.conf'])
  rmSync(join(network.configDir, '99-theirs.conf'))
  writeFileSync(join(network.configDir, 'README'), 'not a list')
  assert.equal(await installShippedNetwork(network), 'written')
})

test("Podman's own network in the same folder is no network of pods", async (t) => {
  const network = shipped(t, '10.244.3.0/24')
  mkdirSync(network.configDir)
  writeFileSync(join(network.configDir, '87-podman-bridge.conflist'), '{}')
  assert.equal(await isNetworkOurs(network.configDir, true), true)
  assert.equal(await installShippedNetwork(network), 'written')
  assert.equal(await isNetworkOurs(network.configDir, false), true)
})

test('without a pod network nothing is written', async (t) => {
  const network = shipped(t)
  assert.equal(await installShippedNetwork(network), 'no-pod-cidr')
})

test('plugins of packages are linked where they are missing, and nothing that stands is touched', async (t) => {
  const folder = makeTemporaryFolder(t)
  const [first, second, target] = ['first', 'second', 'target'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  for (const dir of [first, second, target]) mkdirSync(dir)
  for (const file of [join(first, 'bridge'), join(first, 'own'), join(second, 'bridge'), join(second, 'ptp')]) {
    writeFileSync(file, file)
    chmodSync(file, 0o755)
  }
  writeFileSync(join(first, 'README'), 'no program')
  writeFileSync(join(target, 'own'), 'own')
  symlinkSync(join(folder, 'gone/ptp'), join(target, 'ptp'))
  assert.deepEqual(await offerPlugins([first, second, join(folder, 'absent')], target), ['bridge', 'ptp'])
  assert.equal(readlinkSync(join(target, 'bridge')), join(first, 'bridge'))
  assert.equal(readlinkSync(join(target, 'ptp')), join(second, 'ptp'))
  assert.equal(lstatSync(join(target, 'own')).isFile(), true)
  assert.deepEqual(await offerPlugins([first, second], target), [])
})
