import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Run } from '../../../../src/host/index.ts'
import { cleanupCni } from '../../../../src/node/cni/index.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'

/** A machine with these links, as `ip -json` shows them, and the commands that changed something. */
function machineWith(links: readonly object[]) {
  const changes: string[] = []
  const run: Run = async (file, args) => {
    const isQuestion = args.includes('-json')
    if (!isQuestion) changes.push([file, ...args].join(' '))
    const stdout = isQuestion ? JSON.stringify(links) : ''
    return { endedBy: 'exit', exitCode: 0, stdout, stderr: '', durationMs: 0 }
  }
  return { run, changes }
}

function makePlaces(t: TestContext) {
  const root = makeTemporaryFolder(t)
  const [configDir, linkDir, ipamDir, shipped] = ['net.d', 'bin', 'networks', 'shipped'].map((name) => join(root, name))
  for (const folder of [configDir, linkDir, ipamDir, shipped]) mkdirSync(folder as string)
  const places = { configDir, linkDir, ipamDir, linkedFrom: [shipped] } as Parameters<typeof cleanupCni>[0]
  writeFileSync(join(places.configDir, '10-platnet.conflist'), '{"name": "platnet", "plugins": []}')
  mkdirSync(join(places.ipamDir, 'platnet'))
  symlinkSync(join(String(shipped), 'bridge'), join(String(linkDir), 'bridge'))
  symlinkSync('/elsewhere/bridge', join(String(linkDir), 'foreign'))
  writeFileSync(join(String(linkDir), 'program'), '')
  return { ...places, linkDir: String(linkDir) }
}

test('cleanup removes our list, its addresses and our links, and nothing of others', async (t) => {
  const places = makePlaces(t)
  const { done, left } = await cleanupCni(places, machineWith([]).run)
  assert.deepEqual(done, [
    `removed the network list ${join(places.configDir, '10-platnet.conflist')}`,
    `removed 1 links to plugins from ${places.linkDir}`,
  ])
  assert.deepEqual(left, [])
  assert.deepEqual(readdirSync(places.linkDir), ['foreign', 'program'])
  assert.deepEqual(readdirSync(places.ipamDir), [])
  assert.deepEqual(await cleanupCni(places, machineWith([]).run), { done: [], left: [] })
})

test('cleanup keeps links that another network list may need, and a list of our name that others wrote', async (t) => {
  const places = makePlaces(t)
  writeFileSync(join(places.configDir, '20-other.conflist'), '{}')
  writeFileSync(join(places.configDir, '10-platnet.conflist'), '{"name": "theirs"}')
  const { done, left } = await cleanupCni(places, machineWith([]).run)
  assert.deepEqual(done, [])
  assert.match(
    left.join(),
    /^links to plugins in \S+: 10-platnet.conflist, 20-other.conflist may need them; rm \S+\/bridge$/,
  )
  assert.ok(existsSync(join(places.configDir, '10-platnet.conflist')))
})

const bridge = { ifname: 'cni-platnet', linkinfo: { info_kind: 'bridge' } }

test('cleanup deletes the bridge of the network, but neither one with pods of others nor a link of another kind', async (t) => {
  const places = makePlaces(t)
  const empty = machineWith([{ ifname: 'lo' }, bridge])
  assert.ok((await cleanupCni(places, empty.run)).done.includes('removed the bridge cni-platnet'))
  assert.deepEqual(empty.changes, ['ip link delete dev cni-platnet'])

  const used = machineWith([bridge, { ifname: 'veth1', master: 'cni-platnet', linkinfo: { info_kind: 'veth' } }])
  const { left } = await cleanupCni(places, used.run)
  assert.match(left.join(), /^the bridge cni-platnet: 1 pods of another runtime are on it; ip link delete cni-platnet$/)
  const other = machineWith([{ ...bridge, linkinfo: { info_kind: 'dummy' } }])
  assert.deepEqual(await cleanupCni(places, other.run), { done: [], left: [] })
  assert.deepEqual([...used.changes, ...other.changes], [])
})
