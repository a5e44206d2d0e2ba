import { formatTime } from '../../model/api-object.ts'
import type { Condition } from './parts.ts'

export interface ConditionChange {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
}

export function findCondition(conditions: readonly Condition[], type: string): Condition | undefined {
  return conditions.find((condition) => condition.type === type)
}

/**
 * Returns the list with this condition set. The transition time changes only with the condition's status. Returns the
 * same list object if nothing changes.
 */
export function withCondition(
  conditions: readonly Condition[],
  change: ConditionChange,
  nowMs: number,
): readonly Condition[] {
  const old = findCondition(conditions, change.type)
  if (old?.status === change.status && old.reason === change.reason && old.message === change.message) return conditions
  const now = formatTime(nowMs)
  const lastTransitionTime = old?.status === change.status ? old.lastTransitionTime : now
  const next: Condition = { ...old, ...change, lastTransitionTime }
  return [...conditions.filter(({ type }) => type !== change.type), next]
}

export function withoutCondition(conditions: readonly Condition[], type: string): readonly Condition[] {
  return conditions.filter((condition) => condition.type !== type)
}
