import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '../../model/api-object.ts'
import { withCondition } from '../objects/conditions.ts'
import { isReady, type Pod } from '../objects/pod.ts'
import { nameOf, type Write } from '../objects/writes.ts'
import { resolveCount } from '../workloads/fraction.ts'
import { type Budget, budgetType } from './shapes.ts'

/** How long an accepted eviction counts as one although the deletion of the pod has not been seen. */
const deletionTimeoutMs = 120_000

/** The number of pods that a budget expects, and how many of them must stay ready. */
interface Expectation {
  readonly expected: number
  readonly desired: number
}

/** Checks whether the budget counts what the controllers of its pods want, and not the pods that there are. */
export function countsWantedPods({ spec }: Budget): boolean {
  if (spec.maxUnavailable !== undefined) return true
  return typeof spec.minAvailable === 'string'
}

/** Returns what a budget expects; `wanted` is the number of pods that their controllers want. */
export function expectationOf({ spec }: Budget, podCount: number, wanted: number): Expectation {
  const { minAvailable, maxUnavailable } = spec
  if (maxUnavailable !== undefined)
    return { expected: wanted, desired: Math.max(0, wanted - resolveCount(maxUnavailable, wanted, 'up')) }
  if (typeof minAvailable === 'number') return { expected: podCount, desired: minAvailable }
  if (minAvailable === undefined) return { expected: 0, desired: 0 }
  return { expected: wanted, desired: resolveCount(minAvailable, wanted, 'up') }
}

export interface StatusPlan {
  readonly write: Write | undefined
  /** When the eviction of a pod that was not deleted no longer counts. */
  readonly againInMs: number | undefined
  /** The pods whose eviction no longer counts, because they are still there. */
  readonly overdue: readonly Pod[]
}

/** Plans the status of a budget from the pods that it selects. */
export function planStatus(
  budget: Budget,
  pods: readonly Pod[],
  { expected, desired }: Expectation,
  nowMs: number,
): StatusPlan {
  const { disrupted, overdue, againInMs } = readDisrupted(budget, pods, nowMs)
  const isCounted = ({ metadata }: Pod) =>
    metadata.deletionTimestamp === undefined && disrupted[metadata.name] === undefined
  const currentHealthy = pods.filter((pod) => isCounted(pod) && isReady(pod)).length
  const disruptionsAllowed = expected <= 0 ? 0 : Math.max(0, currentHealthy - desired)
  const isAllowed = disruptionsAllowed > 0
  const next = {
    observedGeneration: budget.metadata.generation,
    disruptionsAllowed,
    currentHealthy,
    desiredHealthy: desired,
    expectedPods: expected,
  }
  const condition = { isAllowed, reason: isAllowed ? 'SufficientPods' : 'InsufficientPods', message: '' }
  return { write: writeOf(budget, next, disrupted, condition, nowMs), againInMs, overdue }
}

/** Plans the status of a budget that cannot be computed: no eviction is allowed. */
export function planFailure(budget: Budget, message: string, nowMs: number): Write | undefined {
  const condition = { isAllowed: false, reason: 'SyncFailed', message }
  return writeOf(budget, { disruptionsAllowed: 0 }, budget.status.disruptedPods, condition, nowMs)
}

/** Returns the evicted pods that are still expected to go. */
function readDisrupted({ status }: Budget, pods: readonly Pod[], nowMs: number) {
  const listed = pods.filter(
    ({ metadata }) => metadata.deletionTimestamp === undefined && status.disruptedPods[metadata.name] !== undefined,
  )
  const leftMs = ({ metadata }: Pod) =>
    Date.parse(status.disruptedPods[metadata.name] ?? '') + deletionTimeoutMs - nowMs
  const expected = listed.filter((pod) => leftMs(pod) >= 0)
  const disrupted: Readonly<Record<string, string>> = Object.fromEntries(
    expected.map(({ metadata }) => [metadata.name, status.disruptedPods[metadata.name] ?? '']),
  )
  return {
    disrupted,
    overdue: listed.filter((pod) => leftMs(pod) < 0),
    againInMs: expected.length === 0 ? undefined : Math.min(...expected.map(leftMs)) + 1,
  }
}

function writeOf(
  budget: Budget,
  counts: JsonObject,
  disrupted: Readonly<Record<string, string>>,
  { isAllowed, reason, message }: { readonly isAllowed: boolean; readonly reason: string; readonly message: string },
  nowMs: number,
): Write | undefined {
  const { status, metadata } = budget
  const change = { type: 'DisruptionAllowed', status: isAllowed ? 'True' : 'False', reason, message } as const
  const conditions = withCondition(status.conditions, change, nowMs)
  const isSame =
    conditions === status.conditions &&
    isDeepStrictEqual(status.disruptedPods, disrupted) &&
    isDeepStrictEqual({ ...status, ...counts }, status)
  if (isSame) return undefined
  const observedGeneration = Number(counts['observedGeneration'] ?? status.observedGeneration)
  const gone = Object.keys(status.disruptedPods).filter((name) => disrupted[name] === undefined)
  const { uid, resourceVersion } = metadata
  const patch = {
    metadata: { uid, resourceVersion },
    status: {
      ...counts,
      disruptedPods: { ...disrupted, ...Object.fromEntries(gone.map((name) => [name, null])) },
      conditions: conditions.map((each) =>
        each.type === change.type ? { ...each, observedGeneration } : each,
      ) as unknown as readonly JsonObject[],
    },
  }
  return { verb: 'patch', target: nameOf(budgetType.resource, budget), patch, subresource: 'status' }
}
