import { formatTime } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { findCondition, withCondition } from '../objects/conditions.ts'
import type { Node, Taint } from '../objects/node.ts'
import type { Condition } from '../objects/parts.ts'

/** The conditions that the agent reports of its node; without heartbeats they are Unknown. */
const reportedConditions = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure']

/** Returns the conditions of a node that has been silent for too long: each one Unknown. Returns the same list object if nothing changes. */
export function conditionsOfLost({ status }: Node, nowMs: number): readonly Condition[] {
  const hasReported = findCondition(status.conditions, 'Ready') !== undefined
  const change = hasReported
    ? { reason: 'NodeStatusUnknown', message: 'Node agent stopped posting node status.' }
    : { reason: 'NodeStatusNeverUpdated', message: 'Node agent never posted node status.' }
  return reportedConditions.reduce<readonly Condition[]>((conditions, type) => {
    const isThere = type === 'Ready' || findCondition(conditions, type) !== undefined
    return isThere ? withCondition(conditions, { type, status: 'Unknown', ...change }, nowMs) : conditions
  }, status.conditions)
}

type Key = Pick<Taint, 'key' | 'effect'>

/**
 * Returns the taints that a node's conditions call for, beside those set by others. The controller's own taints and every NoExecute taint carry the
 * time they were added, as evictions count from then. Returns the same list object if nothing changes.
 */
export function taintsOf({ spec, status }: Node, names: Dialect['taints'], nowMs: number): readonly Taint[] {
  const wanted = wantedTaints(spec.unschedulable, status.conditions, names)
  const kept = spec.taints.filter((taint) => !isOurs(taint, names) || wanted.some((each) => isSame(each, taint)))
  const missing = wanted.filter((each) => !spec.taints.some((taint) => isSame(each, taint)))
  const isCurrent =
    missing.length === 0 &&
    kept.length === spec.taints.length &&
    kept.every(({ effect, timeAdded }) => effect !== 'NoExecute' || Boolean(timeAdded))
  if (isCurrent) return spec.taints
  const now = formatTime(nowMs)
  return [...kept, ...missing.map((each): Taint => ({ ...each, value: '', timeAdded: now }))].map((taint) =>
    taint.effect === 'NoExecute' ? { ...taint, timeAdded: taint.timeAdded ?? now } : taint,
  )
}

function wantedTaints(
  unschedulable: boolean,
  conditions: readonly Condition[],
  names: Dialect['taints'],
): readonly Key[] {
  const statusOf = (type: string) => findCondition(conditions, type)?.status
  const noSchedule = [
    unschedulable && names.unschedulable,
    statusOf('MemoryPressure') === 'True' && names.memoryPressure,
    statusOf('DiskPressure') === 'True' && names.diskPressure,
    statusOf('PIDPressure') === 'True' && names.pidPressure,
    statusOf('NetworkUnavailable') === 'True' && names.networkUnavailable,
  ].filter((key) => key !== false)
  const ready = statusOf('Ready')
  const trouble = ready === 'False' ? [names.notReady] : ready === 'Unknown' ? [names.unreachable] : []
  return [
    ...noSchedule.map((key): Key => ({ key, effect: 'NoSchedule' })),
    ...trouble.flatMap((key): Key[] => [
      { key, effect: 'NoSchedule' },
      { key, effect: 'NoExecute' },
    ]),
  ]
}

function isOurs({ key, effect }: Taint, names: Dialect['taints']): boolean {
  const isTrouble = key === names.notReady || key === names.unreachable
  return effect === 'NoSchedule' ? Object.values(names).includes(key) : effect === 'NoExecute' && isTrouble
}

function isSame(one: Key, other: Key): boolean {
  return one.key === other.key && one.effect === other.effect
}
