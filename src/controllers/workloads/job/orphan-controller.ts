import type { Component } from '../../../loop/component.ts'
import type { BaseContext } from '../../base-context.ts'
import { applyWrites } from '../../objects/apply-writes.ts'
import { controllerOf } from '../../objects/claim.ts'
import type { Pod } from '../../objects/pod.ts'
import { podType } from '../../objects/types.ts'
import { noted, writeTarget } from '../../objects/write-target.ts'
import { Controller, watchKeys } from '../../runtime/controller.ts'
import { keyOf } from '../../runtime/resource-type.ts'
import { Children } from '../relations.ts'
import { releasePod } from './plan-pods.ts'
import { isTracked } from './pods.ts'
import { endOf, jobType } from './shapes.ts'

/** Creates the controller that lets go of Pods whose Job has ended, is gone, or has released them. */
export function createJobOrphanController(kit: BaseContext): Component {
  const { caches, client, metrics, log, dialect } = kit
  const [jobs, pods] = [caches.of(jobType), caches.of(podType)]
  const children = new Children(pods)
  const target = writeTarget(client, caches, [noted(podType)])

  const isOrphan = (pod: Pod): boolean => {
    const controller = controllerOf(pod)
    if (controller === undefined) return true
    if (controller.kind !== jobType.kind || controller.apiVersion !== jobType.apiVersion) return false
    const job = jobs.get(`${pod.metadata.namespace}/${controller.name}`)
    if (job === undefined || job.metadata.uid !== controller.uid) return true
    const { managedBy = dialect.jobs.controllerName } = job.spec
    return managedBy === dialect.jobs.controllerName && endOf(job) !== undefined
  }
  return new Controller({
    name: 'job-orphans',
    watches: [
      watchKeys(pods, (pod) => (isTracked(pod, dialect.jobs) ? [keyOf(pod)] : [])),
      watchKeys(jobs, (job) =>
        children
          .ownedBy(job)
          .filter((pod) => isTracked(pod, dialect.jobs))
          .map(keyOf),
      ),
    ],
    reconcile: async (key, { signal }) => {
      const pod = pods.get(key)
      if (pod === undefined || !isTracked(pod, dialect.jobs) || !isOrphan(pod)) return undefined
      await applyWrites(target, [releasePod(pod, dialect.jobs)], signal)
      return undefined
    },
    metrics,
    log: log.child('job-orphans'),
  })
}
