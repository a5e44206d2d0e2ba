import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CniNetwork } from '../../../../src/node/pods/cni-network.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { FakeCni, okResult, sandbox } from '../../../helpers/fake-cni.ts'

test('an ADD without an address fails and is undone, because the pod could serve no traffic', async (t) => {
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

test('ports and rates of a pod reach the plugins that declare them', async (t) => {
  const cni = new FakeCni(t)
  const plugin = cni.plugin('only')
  const capabilities = { portMappings: true, bandwidth: true }
  cni.network('10-test.conflist', { cniVersion: '1.0.0', name: 'test', plugins: [{ type: 'only', capabilities }] })
  const portMappings = [{ hostPort: 8080, containerPort: 80, protocol: 'tcp' as const }]
  const bandwidth = { egressRate: 1_000_000, egressBurst: 1_000_000 }
  await new CniNetwork(cni.runtime(), silentLogger).attach({ ...sandbox, portMappings, bandwidth })
  assert.deepEqual(plugin.inputs('ADD')[0]?.['runtimeConfig'], { portMappings, bandwidth })
})
