import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createScheduler } from '../../../../src/controllers/scheduler/scheduler.ts'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { runControllers } from '../../../helpers/controller-lab.ts'
import { untilAsync } from '../../../helpers/until.ts'

const namespaced = '/api/v1/namespaces/default'

async function create(server: TestServer, path: string, body: object): Promise<void> {
  const { code, text } = await server.call('POST', path, { body })
  assert.equal(code, 201, text)
}

test('a pod whose volume no provisioner makes gives its place to another one after the timeout', async () => {
  await using server = await startTestServer()
  await using _ = await runControllers(server, (kit) => [createScheduler(kit, 500)])
  const status = { allocatable: { cpu: '1', pods: '10' } }
  await create(server, '/api/v1/nodes', { metadata: { name: 'n1' }, status })
  await create(server, '/apis/storage.k8s.io/v1/storageclasses', {
    metadata: { name: 'late' },
    provisioner: 'example.com/never',
    volumeBindingMode: 'WaitForFirstConsumer',
  })
  await create(server, `${namespaced}/persistentvolumeclaims`, {
    metadata: { name: 'data' },
    spec: { storageClassName: 'late', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  })
  const read = async (path: string) => (await server.call('GET', `${namespaced}/${path}`)).body
  const containers = [{ name: 'c', image: 'i', resources: { requests: { cpu: '1' } } }]
  const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }]
  await create(server, `${namespaced}/pods`, { metadata: { name: 'first' }, spec: { containers, volumes } })
  await untilAsync('the first pod has the place', async () => {
    const { metadata } = await read('persistentvolumeclaims/data')
    return metadata.annotations?.['volume.kubernetes.io/selected-node'] === 'n1'
  })
  await create(server, `${namespaced}/pods`, { metadata: { name: 'second' }, spec: { containers } })
  await untilAsync('the second pod has it', async () => (await read('pods/second')).spec.nodeName === 'n1')
  await untilAsync('the first pod says why', async () => {
    const conditions: { reason: string; message: string }[] = (await read('pods/first')).status.conditions ?? []
    return conditions.some(({ reason, message }) => reason === 'SchedulerError' && /binding volumes/.test(message))
  })
})
