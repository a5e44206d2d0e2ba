import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ApiError } from '../../../../src/client/index.ts'
import type { Controller } from '../../../../src/controllers/runtime/controller.ts'
import { createEphemeralVolumeController } from '../../../../src/controllers/volumes/ephemeral-controller.ts'
import { MemoryCluster, settled } from '../../../helpers/memory-cluster.ts'
import { until } from '../../../helpers/until.ts'

const namespace = 'default'
const template = { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } }
const pod = {
  metadata: { namespace, name: 'p', uid: 'uid-p' },
  spec: { volumes: [{ name: 'data', ephemeral: { volumeClaimTemplate: template } }] },
}

function startLab(cluster: MemoryCluster) {
  const said: string[] = []
  const events = {
    record: (_: unknown, type: string, reason: string, message: string) =>
      void said.push(`${type} ${reason} ${message}`),
  }
  const controller = createEphemeralVolumeController({ ...cluster.context, events }) as Controller
  const stop = () => controller.stop({ signal: AbortSignal.timeout(1_000) })
  return { controller, said, stop }
}

describe('the claim of an ephemeral volume', () => {
  test('is made when a claim of another owner that had its name is gone', async () => {
    const cluster = new MemoryCluster()
    cluster.put('persistentvolumeclaims', { metadata: { namespace, name: 'p-data' }, spec: {} })
    cluster.put('pods', pod)
    const { controller, said, stop } = startLab(cluster)
    await controller.start()
    await settled([controller])
    assert.deepEqual(said, [
      'Warning FailedBinding ephemeral volume data: PVC default/p-data was not created for pod default/p (pod is not owner)',
    ])
    assert.equal(cluster.requests.get('create persistentvolumeclaims'), undefined)
    await cluster.delete({
      resource: { group: '', version: 'v1', resource: 'persistentvolumeclaims' },
      namespace,
      name: 'p-data',
    })
    await settled([controller])
    assert.equal(cluster.requests.get('create persistentvolumeclaims'), 1)
    await stop()
  })

  test('is refused with an Event of its pod', async () => {
    class FullCluster extends MemoryCluster {
      override create(): Promise<never> {
        return Promise.reject(new ApiError('forbidden', 'exceeded quota: storage'))
      }
    }
    const cluster = new FullCluster()
    cluster.put('pods', pod)
    const { controller, said, stop } = startLab(cluster)
    await controller.start()
    await until('the Event was recorded', () => said.length > 0)
    await stop()
    assert.equal(said[0], 'Warning FailedBinding ephemeral volume data: create PVC p-data: exceeded quota: storage')
  })
})
