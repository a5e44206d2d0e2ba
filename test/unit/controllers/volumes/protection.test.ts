import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { podType, volumeClaimType } from '../../../../src/controllers/objects/types.ts'
import { createClaimProtection } from '../../../../src/controllers/volumes/protection.ts'
import { startOffline } from '../../../helpers/offline-controller.ts'
import { until } from '../../../helpers/until.ts'

const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'p', controller: true }
const claim = {
  metadata: {
    name: 'p-data',
    namespace: 'default',
    uid: 'uid-c',
    resourceVersion: '1',
    deletionTimestamp: '2026-01-01T00:00:00Z',
    finalizers: ['kubernetes.io/pvc-protection'],
    ownerReferences: [owner],
  },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
}
const podOf = (volume: object, metadata: object = {}, status: object = {}) => ({
  metadata: { name: 'p', namespace: 'default', uid: 'p', resourceVersion: '2', ...metadata },
  spec: { nodeName: 'n1', volumes: [{ name: 'data', ...volume }] },
  status,
})
const named = { persistentVolumeClaim: { claimName: 'p-data' } }
const ephemeral = { ephemeral: { volumeClaimTemplate: { spec: {} } } }

describe('the protection of a deleted claim', () => {
  /** Returns what is written once the claim was looked at. */
  async function writesFor(cached: readonly object[], listed: readonly object[]): Promise<readonly string[]> {
    const { caches, calls, passes, start, stop } = startOffline(createClaimProtection, { 'p-data': claim }, listed)
    caches.of(volumeClaimType).note(claim)
    for (const pod of cached) caches.of(podType).note(pod)
    await start()
    await until('the claim was looked at', () => passes.length > 0)
    await stop()
    return calls
  }

  test('of a thousand claims that go together lists the pods of their namespace once', async () => {
    const claims = Array.from({ length: 1000 }, (_, index) => ({
      ...claim,
      metadata: { ...claim.metadata, name: `c${index}`, uid: `uid-${index}` },
    }))
    const used = podOf({ persistentVolumeClaim: { claimName: 'c7' } })
    const live = Object.fromEntries(claims.map((each) => [each.metadata.name, each]))
    const { caches, calls, lists, passes, start, stop } = startOffline(createClaimProtection, live, [used])
    for (const each of claims) caches.of(volumeClaimType).note(each)
    await start()
    await until('all claims were looked at', () => passes.length >= 1000)
    assert.equal(lists(), 1)
    assert.equal(calls.length, 999)
    assert.ok(!calls.includes('patch c7'))
    const late = { ...claim, metadata: { ...claim.metadata, name: 'late', uid: 'uid-late', resourceVersion: '2' } }
    caches.of(volumeClaimType).note(late)
    await until('the claim that was deleted later is listed for itself', () => calls.includes('patch late'))
    assert.equal(lists(), 2)
    await stop()
  })

  test('ends when no pod uses it', async () => {
    assert.deepEqual(await writesFor([], []), ['patch p-data'])
  })

  test('stays while a pod uses it that the cache does not have yet', async () => {
    assert.deepEqual(await writesFor([], [podOf(named)]), [])
  })

  test('stays while a pod has ended and is not gone: its node may still write', async () => {
    const ended = { phase: 'Succeeded' }
    for (const volume of [named, ephemeral]) {
      const pod = podOf(volume, {}, ended)
      assert.deepEqual(await writesFor([pod], [pod]), [])
    }
  })

  test('of an ephemeral volume ends when its deleted pod is shut down, which may wait for the claim', async () => {
    const deleted = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['foregroundDeletion'] }
    const leaving = podOf(ephemeral, { ...deleted, deletionGracePeriodSeconds: 30 })
    assert.deepEqual(await writesFor([leaving], [leaving]), [])
    const shutDown = podOf(ephemeral, { ...deleted, deletionGracePeriodSeconds: 0 })
    assert.deepEqual(await writesFor([shutDown], [shutDown]), ['patch p-data'])
  })
})
