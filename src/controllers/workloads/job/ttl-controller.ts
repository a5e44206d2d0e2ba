import type { Component } from '../../../loop/component.ts'
import type { BaseContext } from '../../base-context.ts'
import { applyWrites } from '../../objects/apply-writes.ts'
import { writeTarget } from '../../objects/write-target.ts'
import { nameOf } from '../../objects/writes.ts'
import { Controller, watchKeys } from '../../runtime/controller.ts'
import { keyOf } from '../../runtime/resource-type.ts'
import { endOf, type Job, jobsResource, jobType } from './shapes.ts'

/** Creates the controller that deletes Jobs `ttlSecondsAfterFinished` after their end, their Pods first. */
export function createJobTtlController(kit: BaseContext): Component {
  const { caches, client, metrics, log } = kit
  const jobs = caches.of(jobType)
  const target = writeTarget(client, caches, [])
  return new Controller({
    name: 'ttl-after-finished',
    watches: [watchKeys(jobs, (job) => (expiresAtMs(job) === undefined ? [] : [keyOf(job)]))],
    reconcile: async (key, { signal }) => {
      const job = jobs.get(key)
      const atMs = job && expiresAtMs(job)
      if (job === undefined || atMs === undefined) return undefined
      const leftMs = atMs - Date.now()
      if (leftMs > 0) return { againInMs: leftMs }
      const { uid } = job.metadata
      const name = nameOf(jobsResource, job)
      await applyWrites(target, [{ verb: 'delete', target: name, uid, propagation: 'Foreground' }], signal)
      return undefined
    },
    metrics,
    log: log.child('ttl-after-finished'),
  })
}

/** Returns when a Job may be deleted; undefined for one that stays or is being deleted. */
function expiresAtMs(job: Job): number | undefined {
  const { ttlSecondsAfterFinished: ttlSeconds } = job.spec
  const end = endOf(job)
  if (end === undefined || ttlSeconds === undefined || job.metadata.deletionTimestamp !== undefined) return undefined
  const endMs = Date.parse(end.lastTransitionTime ?? '')
  return Number.isNaN(endMs) ? undefined : endMs + ttlSeconds * 1000
}
