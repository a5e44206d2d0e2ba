import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ApiClient, ApiError } from '../../../../src/client/index.ts'
import { createDialectTypes, volumeClaimType, volumeType } from '../../../../src/controllers/objects/types.ts'
import { Caches } from '../../../../src/controllers/runtime/caches.ts'
import type { ControllerMetrics } from '../../../../src/controllers/runtime/metrics.ts'
import { createVolumeBinder } from '../../../../src/controllers/volumes/binder.ts'
import { createDialect } from '../../../../src/model/dialect.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { freshControllerMetrics } from '../../../helpers/controllers.ts'
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

/** Counts the passes and the added keys of each controller. */
function countingMetrics() {
  const metrics = freshControllerMetrics()
  const passes: string[] = []
  let added = 0
  const counting: ControllerMetrics = {
    ...metrics,
    countReconcile: (name) => void passes.push(name),
    queue: (name, state) => {
      const queue = metrics.queue(name, state)
      return {
        ...queue,
        countAdd: () => {
          added += 1
          queue.countAdd()
        },
      }
    },
  }
  return { metrics: counting, passes, added: () => added }
}

/** A binder whose caches have only what is noted in them, and whose API server has the live objects. */
function startBinder(live: Readonly<Record<string, object>>) {
  const calls: string[] = []
  const answer = (verb: string) => async (ref: { name: string }) => {
    calls.push(`${verb} ${ref.name}`)
    return live[ref.name]
  }
  const get = async (ref: { name: string }) => {
    const found = live[ref.name]
    if (found === undefined) throw new ApiError('not-found', `${ref.name} is not there`)
    return found
  }
  const client = { get, patch: answer('patch'), delete: answer('delete') } as unknown as ApiClient
  const caches = new Caches({ client, log: silentLogger })
  const dialect = createDialect('kubernetes')
  const events = { record: () => undefined }
  const { metrics, passes, added } = countingMetrics()
  const kit = { client, caches, dialect, types: createDialectTypes(dialect), events, metrics, log: silentLogger }
  const binder = createVolumeBinder(kit)
  const stop = () => binder.stop({ signal: AbortSignal.timeout(1000) })
  const start = () => binder.start({ signal: AbortSignal.timeout(1000) })
  return { caches, calls, passes, added, start, stop }
}

describe('the binder', () => {
  /** Returns what is written once the volume, which is alone in the caches, was looked at. */
  async function writesFor(live: Readonly<Record<string, object>>): Promise<readonly string[]> {
    const { caches, calls, passes, start, stop } = startBinder(live)
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
    const { caches, passes, added, start, stop } = startBinder({})
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
