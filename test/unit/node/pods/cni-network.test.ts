import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CniNetwork } from '../../../../src/node/pods/cni-network.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { FakeCni, okResult, sandbox } from '../../../helpers/fake-cni.ts'

test('a list that gives no address is a failure that is undone: a pod without one could serve nobody', async (t) => {
  const cni = new FakeCni(t)
  const plugin = cni.plugin('only')
  cni.list('only')
  const network = new CniNetwork(cni.runtime(), silentLogger)
  const pod = { ...sandbox, portMappings: [] }
  assert.deepEqual(await network.attach(pod), ['198.18.0.2'])
  plugin.answer('ADD', { out: { ...okResult, ips: [] } })
  await assert.rejects(network.attach({ ...pod, containerId: 'c2' }), {
    code: 'no-address',
    object: 'Pod default/web-0',
  })
  assert.deepEqual(cni.order(), ['ADD only', 'ADD only', 'DEL only'])
  assert.deepEqual(cni.cacheFiles(), ['test-c1-eth0'])
})
