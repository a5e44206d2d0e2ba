import { formatTime } from '../../model/api-object.ts'
import type { ConditionChange } from '../objects/conditions.ts'
import { withCondition } from '../objects/conditions.ts'
import type { Condition } from '../objects/parts.ts'
import type { Autoscaler } from './autoscaler.ts'
import { type History, normalize, withChange } from './behavior.ts'
import { evaluateMetric, type MetricInput, type MetricResult } from './metric-values.ts'

/** The scale of a target, as its subresource shows it. */
export interface Scale {
  readonly replicas: number
  readonly selector: string
}

export interface PlannedEvent {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
}

export interface Situation extends Omit<MetricInput, 'spec' | 'currentReplicas'> {
  readonly autoscaler: Autoscaler
  readonly scale: Scale
  /** The reason why the selector of the scale cannot be used; undefined if it can. */
  readonly selectorProblem: PlannedEvent | undefined
  readonly history: History
}

/** A decision about the size, before it is carried out. */
export interface Plan {
  readonly currentReplicas: number
  readonly desiredReplicas: number
  /** The reason for a change of the size; undefined if it stays. */
  readonly rescaleReason: string | undefined
  readonly currentMetrics: readonly object[]
  readonly conditions: readonly ConditionChange[]
  readonly events: readonly PlannedEvent[]
  readonly history: History
  readonly results: readonly MetricResult[]
}

const scaleFound: ConditionChange = {
  type: 'AbleToScale',
  status: 'True',
  reason: 'SucceededGetScale',
  message: "the HPA controller was able to get the target's current scale",
}

/** Decides the size of a target. Pure: the same situation has the same plan. */
export function planScaling(situation: Situation): Plan {
  const { autoscaler, scale, history, nowMs } = situation
  const { spec } = autoscaler
  const current = scale.replicas
  const isFirst = history.recommendations.length === 0
  const begun = isFirst ? { ...history, recommendations: [{ replicas: current, atMs: nowMs }] } : history
  const base = {
    currentReplicas: current,
    desiredReplicas: current,
    rescaleReason: undefined,
    currentMetrics: [],
    conditions: [scaleFound],
    events: [],
    history: begun,
    results: [],
  }
  if (current === 0 && spec.minReplicas !== 0) return { ...base, conditions: [scaleFound, scalingDisabled] }
  if (current > spec.maxReplicas)
    return {
      ...base,
      desiredReplicas: spec.maxReplicas,
      rescaleReason: 'Current number of replicas above Spec.MaxReplicas',
    }
  if (current < spec.minReplicas)
    return {
      ...base,
      desiredReplicas: spec.minReplicas,
      rescaleReason: 'Current number of replicas below Spec.MinReplicas',
    }
  return planByMetrics(situation, base)
}

const scalingDisabled: ConditionChange = {
  type: 'ScalingActive',
  status: 'False',
  reason: 'ScalingDisabled',
  message: 'scaling is disabled since the replica count of the target is zero',
}

function planByMetrics(situation: Situation, base: Plan): Plan {
  const { autoscaler, selectorProblem } = situation
  const desiredReplicas = autoscaler.status.desiredReplicas
  if (selectorProblem !== undefined) {
    const { message } = selectorProblem
    const reason = selectorProblem.reason === 'AmbiguousSelector' ? 'AmbiguousSelector' : 'InvalidSelector'
    const conditions = [...base.conditions, inactive(reason, message)]
    return { ...base, desiredReplicas, conditions, events: [selectorProblem, computingFailed(message)] }
  }
  const { spec } = autoscaler
  const input = { ...situation, spec, currentReplicas: base.currentReplicas }
  const results = spec.metrics.map((metric) => evaluateMetric(metric, input))
  const failures = results.filter((result) => result.kind === 'failed')
  const proposals = results.filter((result) => result.kind === 'replicas')
  const [first] = failures
  const best = proposals.reduce<(typeof proposals)[number] | undefined>(
    (most, each) => (most === undefined || each.replicas > most.replicas ? each : most),
    undefined,
  )
  // Programs read the field that the type of an entry names, so an entry without a figure has no type, as with Kubernetes.
  const currentMetrics = results.map((result) => (result.kind === 'replicas' ? result.status : { type: '' }))
  const events = failures.map(({ reason, why }) => ({ type: 'Warning' as const, reason, message: why }))
  const found = { ...base, currentMetrics, results, events }
  // A metric without a figure may hide load, so that the others alone never make the target smaller.
  if (best === undefined || (first !== undefined && best.replicas < base.currentReplicas)) {
    const message = `the HPA was unable to compute the replica count: ${first?.why ?? 'there are no metrics'}`
    const text = `invalid metrics (${failures.length} invalid out of ${results.length}), first error is: ${first?.what}: ${first?.why}`
    return {
      ...found,
      desiredReplicas,
      conditions: [...base.conditions, inactive(first?.reason ?? 'InvalidMetricSourceType', message)],
      events: [...events, computingFailed(text)],
    }
  }
  return planNormalized(situation, found, best)
}

function inactive(reason: string, message: string): ConditionChange {
  return { type: 'ScalingActive', status: 'False', reason, message }
}

function computingFailed(message: string): PlannedEvent {
  return { type: 'Warning', reason: 'FailedComputeMetricsReplicas', message }
}

function planNormalized(
  { autoscaler: { spec }, settings, nowMs }: Situation,
  base: Plan,
  { replicas: recommended, name }: { readonly replicas: number; readonly name: string },
): Plan {
  const { currentReplicas, history } = base
  const normalized = normalize({ spec, currentReplicas, recommended, history, settings, nowMs })
  const { able, limit, replicas } = normalized
  const { isLimited, ...limitReason } = limit
  const reason = recommended > currentReplicas ? `${name} above target` : 'All metrics below target'
  return {
    ...base,
    desiredReplicas: replicas,
    rescaleReason: replicas === currentReplicas ? undefined : reason,
    conditions: [
      { type: 'AbleToScale', status: 'True', ...able },
      {
        type: 'ScalingActive',
        status: 'True',
        reason: 'ValidMetricFound',
        message: `the HPA was able to successfully calculate a replica count from ${name}`,
      },
      { type: 'ScalingLimited', status: isLimited ? 'True' : 'False', ...limitReason },
    ],
    history: normalized.history,
  }
}

/** Returns the plan after the size was written: with the condition, the Event and the history of a change. */
export function afterRescale(plan: Plan, nowMs: number): Plan {
  const { currentReplicas, desiredReplicas, rescaleReason } = plan
  const message = `the HPA controller was able to update the target scale to ${desiredReplicas}`
  return {
    ...plan,
    conditions: [...plan.conditions, { type: 'AbleToScale', status: 'True', reason: 'SucceededRescale', message }],
    events: [
      ...plan.events,
      {
        type: 'Normal',
        reason: 'SuccessfulRescale',
        message: `New size: ${desiredReplicas}; reason: ${rescaleReason}`,
      },
    ],
    history: withChange(plan.history, desiredReplicas - currentReplicas, nowMs),
  }
}

/** Returns the plan after the size could not be written. */
export function afterFailedRescale(plan: Plan, error: string): Plan {
  const message = `the HPA controller was unable to update the target scale: ${error}`
  const text = `New size: ${plan.desiredReplicas}; reason: ${plan.rescaleReason}; error: ${error}`
  return {
    ...plan,
    rescaleReason: undefined,
    conditions: [...plan.conditions, { type: 'AbleToScale', status: 'False', reason: 'FailedUpdateScale', message }],
    events: [...plan.events, { type: 'Warning', reason: 'FailedRescale', message: text }],
  }
}

const conditionOrder = ['AbleToScale', 'ScalingActive', 'ScalingLimited']

/** Returns the conditions after the changes, of which the last of each type counts. */
export function conditionsAfter(
  old: readonly Condition[],
  changes: readonly ConditionChange[],
  nowMs: number,
): readonly Condition[] {
  const last = new Map(changes.map((change) => [change.type, change]))
  let conditions = old
  for (const change of last.values()) conditions = withCondition(conditions, change, nowMs)
  const rank = ({ type }: Condition) => conditionOrder.indexOf(type)
  return conditions.toSorted((a, b) => rank(a) - rank(b))
}

/** Returns the status of an autoscaler after a plan. A null removes the field in a merge patch. */
export function statusAfter({ status }: Autoscaler, plan: Plan, nowMs: number) {
  const isRescaled = plan.rescaleReason !== undefined
  return {
    currentReplicas: plan.currentReplicas,
    desiredReplicas: plan.desiredReplicas,
    lastScaleTime: isRescaled ? formatTime(nowMs) : (status.lastScaleTime ?? null),
    currentMetrics: plan.currentMetrics.length === 0 ? null : plan.currentMetrics,
    conditions: conditionsAfter(status.conditions, plan.conditions, nowMs),
  }
}
