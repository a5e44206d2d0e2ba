import { z } from 'zod'
import { conditionSchema, metaSchema, optional, otherwise } from './shapes.ts'

export const podSchema = z.looseObject({
  metadata: metaSchema,
  spec: otherwise(
    z.looseObject({
      nodeName: optional(z.string()),
      tolerations: z.unknown().optional(),
      schedulerName: otherwise(z.string(), ''),
      priority: otherwise(z.number(), 0),
      terminationGracePeriodSeconds: otherwise(z.number(), 30),
    }),
    { nodeName: undefined, tolerations: undefined, schedulerName: '', priority: 0, terminationGracePeriodSeconds: 30 },
  ),
  status: otherwise(
    z.looseObject({
      phase: otherwise(z.string(), 'Pending'),
      conditions: otherwise(z.array(conditionSchema), []),
      containerStatuses: otherwise(z.array(z.looseObject({ restartCount: otherwise(z.number(), 0) })), []),
    }),
    { phase: 'Pending', conditions: [], containerStatuses: [] },
  ),
})

export type Pod = z.output<typeof podSchema>

export function isReady(pod: Pod): boolean {
  return readyCondition(pod)?.status === 'True'
}

/** Ready for at least `minReadySeconds`. */
export function isAvailable(pod: Pod, minReadySeconds: number, nowMs: number): boolean {
  return isReady(pod) && availableInMs(pod, minReadySeconds, nowMs) <= 0
}

/** How long until a ready pod counts as available; zero or less when it does already. */
export function availableInMs(pod: Pod, minReadySeconds: number, nowMs: number): number {
  return readySinceMs(pod) + minReadySeconds * 1000 - nowMs
}

/** 0 for a pod that is not ready or does not say since when. */
export function readySinceMs(pod: Pod): number {
  const since = isReady(pod) ? Date.parse(readyCondition(pod)?.lastTransitionTime ?? '') : 0
  return Number.isNaN(since) ? 0 : since
}

/** Neither finished nor on its way out. */
export function isActive(pod: Pod): boolean {
  return !isFinished(pod) && pod.metadata.deletionTimestamp === undefined
}

export function isFinished({ status }: Pod): boolean {
  return status.phase === 'Succeeded' || status.phase === 'Failed'
}

function readyCondition(pod: Pod) {
  return pod.status.conditions.find(({ type }) => type === 'Ready')
}
