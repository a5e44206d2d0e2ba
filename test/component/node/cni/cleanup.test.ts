import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { cleanupCni } from '../../../../src/node/cni/index.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'

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
  const { done, left } = await cleanupCni(places)
  assert.deepEqual(done, [
    `removed the network list ${join(places.configDir, '10-platnet.conflist')}`,
    `removed 1 links to plugins from ${places.linkDir}`,
  ])
  assert.deepEqual(left, [])
  assert.deepEqual(readdirSync(places.linkDir), ['foreign', 'program'])
  assert.deepEqual(readdirSync(places.ipamDir), [])
  assert.deepEqual(await cleanupCni(places), { done: [], left: [] })
})

test('cleanup keeps links that another network list may need, and a list of our name that others wrote', async (t) => {
  const places = makePlaces(t)
  writeFileSync(join(places.configDir, '20-other.conflist'), '{}')
  writeFileSync(join(places.configDir, '10-platnet.conflist'), '{"name": "theirs"}')
  const { done, left } = await cleanupCni(places)
  assert.deepEqual(done, [])
  assert.match(
    left.join(),
    /^links to plugins in \S+: 10-platnet.conflist, 20-other.conflist may need them; rm \S+\/bridge$/,
  )
  assert.ok(existsSync(join(places.configDir, '10-platnet.conflist')))
})
