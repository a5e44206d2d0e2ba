import { formatTime } from '../../../model/api-object.ts'
import { findCondition, withCondition, withoutCondition } from '../../objects/conditions.ts'
import type { Condition } from '../../objects/parts.ts'
import type { Deployment, ReplicaSet } from '../shapes.ts'
import { availableReplicas, rolloutBounds, wantedReplicas } from './replica-counts.ts'

export interface Rollout {
  readonly deployment: Deployment
  /** The ReplicaSet with the present template, if there is one. */
  readonly newest: ReplicaSet | undefined
  readonly old: readonly ReplicaSet[]
}

type DeploymentStatus = ReturnType<typeof countsOf> & { readonly conditions: readonly Condition[] }

/** The value of `progressDeadlineSeconds` that means no deadline. */
const noDeadline = 2_147_483_647

export function deploymentStatus(rollout: Rollout, nowMs: number): DeploymentStatus {
  const counts = countsOf(rollout)
  const available = availableCondition(rollout, counts.availableReplicas, nowMs)
  return { ...counts, conditions: progressConditions(rollout, counts, available, nowMs) }
}

/** Checks whether every pod has the present template and is available, and no old pod is left. */
export function isComplete({ spec, metadata }: Deployment, counts: ReturnType<typeof countsOf>): boolean {
  const { updatedReplicas, replicas, availableReplicas: available, observedGeneration } = counts
  const isFull = [updatedReplicas, replicas, available].every((count) => count === spec.replicas)
  return isFull && observedGeneration >= metadata.generation
}

/** Returns the time until the deadline of a rollout without progress; undefined if no rollout is in progress. */
export function deadlineInMs({ deployment }: Rollout, status: DeploymentStatus, nowMs: number): number | undefined {
  const progressing = findCondition(status.conditions, 'Progressing')
  if (progressing === undefined || !hasDeadline(deployment) || deployment.spec.paused) return undefined
  if (progressing.reason === 'NewReplicaSetAvailable' || progressing.status === 'False') return undefined
  return Math.max(1_000, lastProgressMs(progressing) + deployment.spec.progressDeadlineSeconds * 1000 - nowMs + 1_000)
}

export function countsOf({ deployment, newest, old }: Rollout) {
  const all = newest === undefined ? old : [...old, newest]
  const available = availableReplicas(all)
  return {
    observedGeneration: deployment.metadata.generation,
    replicas: all.reduce((sum, { status }) => sum + status.replicas, 0),
    updatedReplicas: newest?.status.replicas ?? 0,
    readyReplicas: all.reduce((sum, { status }) => sum + status.readyReplicas, 0),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, wantedReplicas(all) - available),
  }
}

function availableCondition({ deployment }: Rollout, available: number, nowMs: number): readonly Condition[] {
  const { conditions } = deployment.status
  const isEnough = available >= deployment.spec.replicas - rolloutBounds(deployment).unavailable
  const next = withCondition(
    conditions,
    isEnough
      ? {
          type: 'Available',
          status: 'True',
          reason: 'MinimumReplicasAvailable',
          message: 'Deployment has minimum availability.',
        }
      : {
          type: 'Available',
          status: 'False',
          reason: 'MinimumReplicasUnavailable',
          message: 'Deployment does not have minimum availability.',
        },
    nowMs,
  )
  return next === conditions ? conditions : touched(next, 'Available', nowMs)
}

function progressConditions(
  rollout: Rollout,
  counts: ReturnType<typeof countsOf>,
  conditions: readonly Condition[],
  nowMs: number,
): readonly Condition[] {
  const { deployment, newest } = rollout
  if (!hasDeadline(deployment)) return withoutCondition(conditions, 'Progressing')
  const say = (status: 'True' | 'False' | 'Unknown', reason: string, message: string) => {
    const next = withCondition(conditions, { type: 'Progressing', status, reason, message }, nowMs)
    return next === conditions ? conditions : touched(next, 'Progressing', nowMs)
  }
  if (deployment.spec.paused) return say('Unknown', 'DeploymentPaused', 'Deployment is paused')
  const what = `ReplicaSet "${newest?.metadata.name ?? deployment.metadata.name}"`
  if (isComplete(deployment, counts))
    return say('True', 'NewReplicaSetAvailable', `${what} has successfully progressed.`)
  const old = findCondition(conditions, 'Progressing')
  if (old?.reason === 'DeploymentPaused') return say('Unknown', 'DeploymentResumed', 'Deployment is resumed')
  if (!old?.message.includes(what) || hasMoved(deployment, counts))
    return touched(say('True', 'ReplicaSetUpdated', `${what} is progressing.`), 'Progressing', nowMs)
  const isLate = lastProgressMs(old) + deployment.spec.progressDeadlineSeconds * 1000 < nowMs
  if (!isLate || old.reason === 'NewReplicaSetAvailable') return conditions
  return say('False', 'ProgressDeadlineExceeded', `${what} has timed out progressing.`)
}

function hasMoved({ status }: Deployment, counts: ReturnType<typeof countsOf>): boolean {
  return (
    counts.updatedReplicas > status.updatedReplicas ||
    counts.replicas - counts.updatedReplicas < status.replicas - status.updatedReplicas ||
    counts.readyReplicas > status.readyReplicas ||
    counts.availableReplicas > status.availableReplicas
  )
}

function touched(conditions: readonly Condition[], type: string, nowMs: number): readonly Condition[] {
  return conditions.map((condition) =>
    condition.type === type ? { ...condition, lastUpdateTime: formatTime(nowMs) } : condition,
  )
}

function lastProgressMs({ lastTransitionTime, ...rest }: Condition): number {
  const { lastUpdateTime } = rest
  return Date.parse(typeof lastUpdateTime === 'string' ? lastUpdateTime : (lastTransitionTime ?? '')) || 0
}

function hasDeadline({ spec }: Deployment): boolean {
  return spec.progressDeadlineSeconds < noDeadline
}
