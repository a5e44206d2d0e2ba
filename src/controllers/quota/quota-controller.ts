import { isDeepStrictEqual } from 'node:util'
import type { Component } from '../../loop/component.ts'
import { type Amounts, formatAmount } from '../../model/amount.ts'
import type { BaseContext } from '../base-context.ts'
import { applyWrites } from '../objects/apply-writes.ts'
import { noted, writeTarget } from '../objects/write-target.ts'
import { nameOf, type Write } from '../objects/writes.ts'
import { Controller, watchKeys } from '../runtime/controller.ts'
import { keyOf } from '../runtime/resource-type.ts'
import { countUsage } from './count-usage.ts'
import { type Quota, quotaType } from './shapes.ts'

/** How often everything is counted again, as in Kubernetes. */
const recountMs = 300_000
/** After a first count: what was created or deleted meanwhile is not in it. */
const recheckMs = 1_000

/**
 * Creates the controller that begins the count of new and changed ResourceQuotas. Each change of an object after that is
 * charged by the API server in the commit of the change; the controller counts again now and then.
 */
export function createQuotaController(kit: BaseContext): Component {
  const { caches, client, metrics, log } = kit
  const quotas = caches.of(quotaType)
  const target = writeTarget(client, caches, [noted(quotaType)])
  const counting = { client, classAnnotation: kit.dialect.volumes.storageClass }
  /** When each quota was counted last, by its uid. */
  const counted = new Map<string, number>()
  return new Controller({
    name: 'resourcequota',
    watches: [watchKeys(quotas, (quota) => [keyOf(quota)], { isSame: isOnlyCharged })],
    reconcile: async (key, { signal }) => {
      const quota = quotas.get(key)
      if (quota === undefined) return undefined
      const { uid } = quota.metadata
      const isNew = !isCounted(quota)
      const leftMs = (counted.get(uid) ?? Number.NEGATIVE_INFINITY) + recountMs - Date.now()
      if (!isNew && leftMs > 0) return { againInMs: leftMs }
      const write = planStatus(quota, await countUsage(counting, quota, signal))
      await applyWrites(target, write === undefined ? [] : [write], signal)
      if (isNew) counted.delete(uid)
      else counted.set(uid, Date.now())
      return { againInMs: isNew ? recheckMs : recountMs }
    },
    metrics,
    log: log.child('resourcequota'),
  })
}

/** Checks whether only the usage changed: the API server did that, and its count is right. */
function isOnlyCharged(old: Quota, next: Quota): boolean {
  return old.metadata.uid === next.metadata.uid && isDeepStrictEqual(old.spec, next.spec) && isCounted(next)
}

/** Checks whether the status enforces the limits of the spec, and knows the usage of each that is counted. */
function isCounted({ spec, status }: Quota): boolean {
  return isDeepStrictEqual(spec.hard, status.hard) && (Object.keys(status.used).length > 0 || isEmpty(spec.hard))
}

function isEmpty(amounts: Readonly<Record<string, string>>): boolean {
  return Object.keys(amounts).length === 0
}

/** Plans the status for exactly the version that was counted. */
function planStatus(quota: Quota, usage: Amounts): Write | undefined {
  const used = Object.fromEntries([...usage].map(([name, amount]) => [name, formatAmount(amount)]))
  if (isDeepStrictEqual(quota.status, { hard: quota.spec.hard, used })) return undefined
  const { uid, resourceVersion } = quota.metadata
  const without = (old: Readonly<Record<string, string>>, next: Readonly<Record<string, string>>) => ({
    ...Object.fromEntries(Object.keys(old).map((name) => [name, null])),
    ...next,
  })
  const status = { hard: without(quota.status.hard, quota.spec.hard), used: without(quota.status.used, used) }
  const patch = { metadata: { uid, resourceVersion }, status }
  return { verb: 'patch', target: nameOf(quotaType.resource, quota), patch, subresource: 'status' }
}
