import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { bridgeList, CniNode, cniSkipReason, debianPlugins } from '../../helpers/cni-node.ts'
import { type TestNetns, withNetns } from '../../helpers/netns.ts'

const program = resolve(import.meta.dirname, '../../../.cache/peer/cnitool')
const isBuilt = existsSync(program) || 'needs cnitool (sh bench/pods/build-peer.sh)'
const skip = isBuilt === true ? cniSkipReason('unshare') : isBuilt

/** cnitool knows only /var/lib/cni: in a mount namespace of its own that is the node's cache. */
const inPlace =
  'mount -t tmpfs tmpfs /var/lib && mkdir /var/lib/cni && mount --bind "$1" /var/lib/cni && shift && exec "$@"'

async function cnitool(node: CniNode, command: string, pod: TestNetns): Promise<void> {
  const variables = [`NETCONFPATH=${node.configDir}`, `CNI_PATH=${debianPlugins}`, 'CNI_ARGS=IgnoreUnknown=1']
  const asked = ['env', ...variables, program, command, 'plt', `/run/netns/${pod.name}`]
  await node.netns.exec('unshare', '--mount', 'sh', '-c', inPlace, 'sh', node.cacheDir, ...asked)
}

/** As cnitool names the container of a namespace. */
function cnitoolId(pod: TestNetns): string {
  return `cnitool-${createHash('sha512').update(`/run/netns/${pod.name}`).digest('hex').slice(0, 20)}`
}

test(
  'what we added cnitool deletes, what it added we delete, though never as a leftover',
  { skip, timeout: 120_000 },
  (t) =>
    withNetns(async (lab) => {
      const node = await CniNode.create(t, lab)
      node.network('10-plt.conflist', bridgeList(node))
      const before = await node.traces()
      const { pod, sandbox } = await node.sandbox('one')
      const shared = { ...sandbox, containerId: cnitoolId(pod) }

      await node.runtime().add(shared)
      await cnitool(node, 'del', pod)
      assert.deepEqual(await node.traces(), before)

      await cnitool(node, 'add', pod)
      const { results } = await node.traces()
      assert.deepEqual(
        results.map((file) => file.split('/').at(-1)),
        [`plt-${shared.containerId}-eth0`],
      )
      assert.deepEqual((await node.runtime().garbage.collect([])).deleted, [], 'it is not ours')
      await node.runtime().del(shared)
      assert.deepEqual(await node.traces(), before)
    }),
)
