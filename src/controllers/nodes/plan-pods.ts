import type { JsonObject } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { withCondition } from '../objects/conditions.ts'
import type { Taint } from '../objects/node.ts'
import { isReady, type Pod } from '../objects/pod.ts'
import { type Toleration, tolerates, tolerationsOf } from '../objects/tolerations.ts'
import { nameOf, podsResource, type Write } from '../objects/writes.ts'

/** How long a pod stays on an unhealthy node if it sets no toleration itself. */
const defaultTolerationMs = 300_000

/** Returns writes that mark the pods of a silent node as not ready, so that Services leave them; the agent reverts this when it is back. */
export function notReadyWrites(pods: readonly Pod[], nowMs: number): readonly Write[] {
  return pods.filter(isReady).map((pod): Write => {
    const { uid, resourceVersion } = pod.metadata
    const change = {
      type: 'Ready',
      status: 'False',
      reason: 'NodeNotReady',
      message: 'the node cannot be reached',
    } as const
    const conditions = withCondition(pod.status.conditions, change, nowMs) as unknown as readonly JsonObject[]
    const patch = { metadata: { uid, resourceVersion }, status: { conditions } }
    return { verb: 'patch', target: nameOf(podsResource, pod), patch, subresource: 'status' }
  })
}

export interface EvictionInput {
  readonly taints: readonly Taint[]
  /** The pods on the node. */
  readonly pods: readonly Pod[]
  /**
   * Whether taints of unhealthy nodes evict pods. They do not while no node is healthy: pods have no other node, and the controller itself is more
   * likely cut off.
   */
  readonly heedsTrouble: boolean
  readonly names: Dialect['taints']
  readonly nowMs: number
}

export interface EvictionPlan {
  readonly evicted: readonly Pod[]
  /** The time until the next of the remaining pods may have to go. */
  readonly againInMs: number | undefined
}

/** Returns the pods that a node's NoExecute taints evict now, and when to check again. */
export function planEviction({ taints, pods, heedsTrouble, names, nowMs }: EvictionInput): EvictionPlan {
  const isTrouble = ({ key }: Taint) => key === names.notReady || key === names.unreachable
  const driving = taints.filter((taint) => taint.effect === 'NoExecute' && (heedsTrouble || !isTrouble(taint)))
  if (driving.length === 0) return { evicted: [], againInMs: undefined }
  const staying = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  const due = staying.map((pod) => {
    const tolerations = tolerationsOf(pod.spec)
    return { pod, dueMs: Math.min(...driving.map((taint) => dueOf(taint, tolerations, isTrouble(taint), nowMs))) }
  })
  const waits = due.flatMap(({ dueMs }) => (dueMs > nowMs && dueMs < Number.POSITIVE_INFINITY ? [dueMs - nowMs] : []))
  return {
    evicted: due.filter(({ dueMs }) => dueMs <= nowMs).map(({ pod }) => pod),
    againInMs: waits.length === 0 ? undefined : Math.min(...waits),
  }
}

/** Returns the time until which the pod may stay with that taint. */
function dueOf(taint: Taint, tolerations: readonly Toleration[], isTrouble: boolean, nowMs: number): number {
  const matching = tolerations.filter((toleration) => tolerates(toleration, taint))
  if (matching.length === 0 && !isTrouble) return nowMs
  const sinceMs = Date.parse(taint.timeAdded ?? '')
  const startMs = Number.isNaN(sinceMs) ? nowMs : sinceMs
  if (matching.length === 0) return startMs + defaultTolerationMs
  const seconds = matching.map(({ tolerationSeconds }) => tolerationSeconds ?? Number.POSITIVE_INFINITY)
  return startMs + Math.max(0, Math.min(...seconds)) * 1000
}
