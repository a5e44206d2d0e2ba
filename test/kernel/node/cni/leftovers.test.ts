import assert from 'node:assert/strict'
import { readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { bridgeList, CniNode, cniSkipReason } from '../../../helpers/cni-node.ts'
import { withNetns } from '../../../helpers/netns.ts'

const options = { skip: cniSkipReason(), timeout: 120_000 }
const portMappings = [{ hostPort: 18080, containerPort: 80, protocol: 'tcp' }] as const

/** As if the reservation had been made two minutes ago. */
function makeOld(node: CniNode): void {
  const folder = join(node.ipamDir, 'plt')
  const before = Date.now() / 1000 - 120
  for (const name of readdirSync(folder)) utimesSync(join(folder, name), before, before)
}

test('after a reboot all traces of pods that are gone are released, and those of living pods stay', options, (t) =>
  withNetns(async (lab) => {
    const node = await CniNode.create(t, lab)
    node.network('10-plt.conflist', bridgeList(node))
    const runtime = node.runtime()
    const alive = await node.sandbox('alive')
    await runtime.add(alive.sandbox)
    const before = await node.traces()
    const gone = await node.sandbox('gone', { portMappings })
    await runtime.add(gone.sandbox)
    await node.removePod(gone.pod)
    const { deleted, errors } = await node.runtime().garbage.collect([alive.sandbox])
    assert.deepEqual([deleted, errors], [['plt/plt-gone/eth0'], []])
    assert.deepEqual((await node.traces()).results, before.results)
    assert.deepEqual((await node.traces()).addresses, before.addresses)
    // The bridge plugin leaves its masquerading rules when the namespace is gone; no record names them now.
    await node.runtime().garbage.collect([alive.sandbox])
    assert.deepEqual(await node.traces(), before)
    await runtime.check(alive.sandbox)
  }),
)

test('addresses and chains whose results were lost are found by their age and owner', options, (t) =>
  withNetns(async (lab) => {
    const node = await CniNode.create(t, lab)
    node.network('10-plt.conflist', bridgeList(node))
    const runtime = node.runtime()
    const before = await node.traces()
    const lost = await node.sandbox('lost', { portMappings })
    await runtime.add(lost.sandbox)
    await node.removePod(lost.pod)
    rmSync(join(node.cacheDir, 'results'), { recursive: true })
    const young = await runtime.garbage.collect([])
    assert.deepEqual(young.released, [], 'another runtime may be in the middle of its ADD')
    makeOld(node)
    const { released, errors } = await runtime.garbage.collect([])
    assert.deepEqual(errors, [])
    assert.deepEqual(released.map((line) => line.replace(/[0-9a-f]{20,}/, 'HASH')).sort(), [
      'released 198.18.7.2 of the network plt, held for plt-lost',
      'removed the chain CNI-DN-HASH of plt-lost',
      'removed the chain CNI-HASH of plt-lost',
    ])
    assert.deepEqual(await node.traces(), before)
  }),
)

test('a namespace of which only the file was made, its maker was killed, keeps no pod from going', options, (t) =>
  withNetns(async (lab) => {
    const node = await CniNode.create(t, lab)
    node.network('10-plt.conflist', bridgeList(node))
    const runtime = node.runtime()
    const before = await node.traces()
    const { sandbox } = await node.sandbox('half', { portMappings, netnsPath: join(node.folder, 'half') })
    writeFileSync(sandbox.netnsPath, '')
    await assert.rejects(runtime.add(sandbox), /unknown FS magic/)
    assert.deepEqual(await node.traces(), before, 'what failed was undone')
    await runtime.del(sandbox)
  }),
)

test('what another runtime added on the same network is never touched', options, (t) =>
  withNetns(async (lab) => {
    const node = await CniNode.create(t, lab)
    node.network('10-plt.conflist', bridgeList(node))
    const { sandbox } = await node.sandbox('theirs', { portMappings })
    await node.runtime().add(sandbox)
    const file = join(node.cacheDir, 'results/plt-plt-theirs-eth0')
    const { owner: _, ...theirs } = JSON.parse(node.read('cni/results/plt-plt-theirs-eth0'))
    writeFileSync(file, JSON.stringify(theirs))
    makeOld(node)
    const before = await node.traces()
    const { deleted, released, errors } = await node.runtime().garbage.collect([])
    assert.deepEqual([deleted, released, errors], [[], [], []])
    assert.deepEqual(await node.traces(), before)
  }),
)

test(
  'a person is shown leftovers of any runtime whose namespace is gone, and empty files, and cleans them',
  options,
  (t) =>
    withNetns(async (lab) => {
      const node = await CniNode.create(t, lab)
      node.network('10-plt.conflist', bridgeList(node))
      const runtime = node.runtime()
      const before = await node.traces()
      const { sandbox, pod } = await node.sandbox('gone', { portMappings })
      await runtime.add(sandbox)
      writeFileSync(join(node.cacheDir, 'results/plt-plt-old-eth0'), '')
      assert.deepEqual((await runtime.garbage.leftovers()).attachments, [], 'its namespace stands')
      await node.removePod(pod)
      const leftovers = await runtime.garbage.leftovers()
      assert.deepEqual(
        leftovers.attachments.map(({ containerId }) => containerId),
        ['plt-gone'],
      )
      assert.equal(leftovers.unreadableFiles.length, 1)
      await runtime.garbage.clean(leftovers)
      await runtime.garbage.clean(await runtime.garbage.leftovers())
      assert.deepEqual(await node.traces(), before)
    }),
)
