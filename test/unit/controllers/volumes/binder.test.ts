import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { volumeClaimType, volumeType } from '../../../../src/controllers/objects/types.ts'
import { createVolumeBinder } from '../../../../src/controllers/volumes/binder.ts'
import { startOffline } from '../../../helpers/offline-controller.ts'
import { until } from '../../../helpers/until.ts'

const claim = {
  metadata: { name: 'c', namespace: 'default', uid: 'uid-c', resourceVersion: '1' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, volumeName: 'v' },
}
const volume = {
  metadata: { name: 'v', uid: 'uid-v', resourceVersion: '2' },
  spec: {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    persistentVolumeReclaimPolicy: 'Delete',
    claimRef: { namespace: 'default', name: 'c', uid: 'uid-c' },
    hostPath: { path: '/tmp/platnet-no-such-folder/v' },
  },
  status: { phase: 'Released' },
}

describe('the binder', () => {
  /** Returns what is written once the volume, which is alone in the caches, was looked at. */
  async function writesFor(live: Readonly<Record<string, object>>): Promise<readonly string[]> {
    const { caches, calls, passes, start, stop } = startOffline(createVolumeBinder, live)
    caches.of(volumeType).note(volume)
    await start()
    await until('the volume was looked at', () => passes.includes('pv-binder-volumes'))
    await stop()
    return calls
  }

  test('deletes no volume whose claim is not in its cache yet', async () => {
    assert.deepEqual(await writesFor({ v: volume, c: claim }), [])
  })

  test('deletes no volume whose claim it cannot read', async () => {
    assert.deepEqual(await writesFor({ v: volume, c: { ...claim, spec: { accessModes: 'many' } } }), [])
  })

  test('deletes no volume whose policy has just become another', async () => {
    const kept = { ...volume, spec: { ...volume.spec, persistentVolumeReclaimPolicy: 'Retain' } }
    assert.deepEqual(await writesFor({ v: kept }), [])
  })

  test('deletes a volume whose claim is gone, or whose claim was made again', async () => {
    assert.deepEqual(await writesFor({ v: volume }), ['delete v'])
    const again = { ...claim, metadata: { ...claim.metadata, uid: 'newer' } }
    assert.deepEqual(await writesFor({ v: volume, c: again }), ['delete v'])
  })

  test('looks at each waiting claim once when many volumes become free at once', async () => {
    const { caches, passes, added, start, stop } = startOffline(createVolumeBinder, {})
    for (let index = 0; index < 300; index++) {
      const name = `c${index}`
      const spec = { ...claim.spec, volumeName: '', storageClassName: 'fast', accessModes: ['ReadWriteMany'] }
      caches.of(volumeClaimType).note({ metadata: { ...claim.metadata, name, uid: name }, spec })
      const free = { ...volume.spec, claimRef: null, storageClassName: 'fast' }
      const metadata = { ...volume.metadata, name: `v${index}`, uid: `v${index}` }
      caches.of(volumeType).note({ metadata, spec: free, status: { phase: 'Available' } })
    }
    await start()
    await until('all were looked at', () => passes.length >= 601)
    await stop()
    assert.ok(added() < 2_000, `${added()} keys for 300 claims and 300 volumes`)
  })
})
