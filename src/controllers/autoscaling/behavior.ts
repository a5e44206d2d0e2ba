import type { Autoscaler, AutoscalingSettings, ScalingRules } from './autoscaler.ts'

interface Recommendation {
  readonly replicas: number
  readonly atMs: number
}

interface SizeChange {
  /** Positive for more replicas, negative for fewer. */
  readonly change: number
  readonly atMs: number
}

/** The recent recommendations and changes of one autoscaler. It is kept in memory: a new leader begins anew. */
export interface History {
  readonly recommendations: readonly Recommendation[]
  readonly changes: readonly SizeChange[]
}

export const noHistory: History = { recommendations: [], changes: [] }

interface Reason {
  readonly reason: string
  readonly message: string
}

export interface Normalized {
  readonly replicas: number
  readonly history: History
  /** The reason for the condition AbleToScale. */
  readonly able: Reason
  /** The reason for the condition ScalingLimited, which is true if the recommendation was changed. */
  readonly limit: Reason & { readonly isLimited: boolean }
}

export interface NormalizeInput {
  readonly spec: Autoscaler['spec']
  readonly currentReplicas: number
  readonly recommended: number
  readonly history: History
  readonly settings: Pick<AutoscalingSettings, 'downscaleStabilizationMs'>
  readonly nowMs: number
}

/** Returns the recommendation within the limits of the autoscaler: windows, policies, minimum and maximum. */
export function normalize(input: NormalizeInput): Normalized {
  const { spec, currentReplicas, recommended, history, nowMs } = input
  const { upMs, downMs } = windowsOf(input)
  const known = history.recommendations
  const stabilized =
    spec.behavior === undefined
      ? Math.max(recommended, ...since(known, nowMs - downMs))
      : stabilizeBoth(input, since(known, nowMs - upMs), since(known, nowMs - downMs))
  const able = stabilized === recommended ? readyForNewScale : stabilizedReason(spec, recommended, currentReplicas)
  const limited = spec.behavior === undefined ? limitByDefault(input, stabilized) : limitByRules(input, stabilized)
  const kept = known.filter(({ atMs }) => atMs > nowMs - Math.max(upMs, downMs))
  return {
    replicas: limited.replicas,
    history: { ...history, recommendations: [...kept, { replicas: recommended, atMs: nowMs }] },
    able,
    limit: { ...limited.limit, isLimited: limited.replicas !== stabilized },
  }
}

/** Adds a change of the size; changes that no policy looks back at are dropped. */
export function withChange(history: History, change: number, nowMs: number): History {
  const recent = history.changes.filter(({ atMs }) => atMs > nowMs - longestPeriodMs)
  return { ...history, changes: [...recent, { change, atMs: nowMs }] }
}

/** The longest `periodSeconds` of a policy. */
const longestPeriodMs = 1800 * 1000

const readyForNewScale: Reason = { reason: 'ReadyForNewScale', message: 'recommended size matches current size' }

function windowsOf({ spec, settings }: NormalizeInput): { readonly upMs: number; readonly downMs: number } {
  const { scaleUp, scaleDown } = spec.behavior ?? {}
  const downSeconds = scaleDown?.stabilizationWindowSeconds ?? settings.downscaleStabilizationMs / 1000
  return { upMs: (scaleUp?.stabilizationWindowSeconds ?? 0) * 1000, downMs: downSeconds * 1000 }
}

function since(recommendations: readonly Recommendation[], fromMs: number): readonly number[] {
  return recommendations.filter(({ atMs }) => atMs > fromMs).map(({ replicas }) => replicas)
}

/** Goes up to the lowest recommendation of the one window, or down to the highest of the other; else the size stays. */
function stabilizeBoth(
  { currentReplicas, recommended }: NormalizeInput,
  inUpWindow: readonly number[],
  inDownWindow: readonly number[],
): number {
  const lowest = Math.min(recommended, ...inUpWindow)
  const highest = Math.max(recommended, ...inDownWindow)
  return Math.min(Math.max(currentReplicas, lowest), highest)
}

function stabilizedReason(spec: Autoscaler['spec'], recommended: number, current: number): Reason {
  return spec.behavior !== undefined && recommended >= current
    ? {
        reason: 'ScaleUpStabilized',
        message: 'recent recommendations were lower than current one, applying the lowest recent recommendation',
      }
    : {
        reason: 'ScaleDownStabilized',
        message: 'recent recommendations were higher than current one, applying the highest recent recommendation',
      }
}

interface Limited {
  readonly replicas: number
  readonly limit: Reason
}

const withinRange: Reason = {
  reason: 'DesiredWithinRange',
  message: 'the desired count is within the acceptable range',
}
const tooMany: Reason = {
  reason: 'TooManyReplicas',
  message: 'the desired replica count is more than the maximum replica count',
}
const tooFew: Reason = {
  reason: 'TooFewReplicas',
  message: 'the desired replica count is less than the minimum replica count',
}
const tooFast: Reason = {
  reason: 'ScaleUpLimit',
  message: 'the desired replica count is increasing faster than the maximum scale rate',
}
const tooFastDown: Reason = {
  reason: 'ScaleDownLimit',
  message: 'the desired replica count is decreasing faster than the maximum scale rate',
}

/** The limits without a behavior: at most twice the size, or 4, at once. */
function limitByDefault({ spec, currentReplicas }: NormalizeInput, wanted: number): Limited {
  const atOnce = Math.max(2 * currentReplicas, 4)
  if (wanted < spec.minReplicas) return { replicas: spec.minReplicas, limit: tooFew }
  if (wanted <= Math.min(spec.maxReplicas, atOnce)) return { replicas: wanted, limit: withinRange }
  return spec.maxReplicas > atOnce
    ? { replicas: atOnce, limit: tooFast }
    : { replicas: spec.maxReplicas, limit: tooMany }
}

function limitByRules(input: NormalizeInput, wanted: number): Limited {
  const { spec, currentReplicas } = input
  if (spec.behavior === undefined || wanted === currentReplicas) return { replicas: wanted, limit: withinRange }
  if (wanted > currentReplicas) {
    const rate = Math.max(currentReplicas, limitOf(spec.behavior.scaleUp, input, 1))
    const most = Math.min(spec.maxReplicas, rate)
    return wanted <= most
      ? { replicas: wanted, limit: withinRange }
      : { replicas: most, limit: spec.maxReplicas > rate ? tooFast : tooMany }
  }
  const rate = Math.min(currentReplicas, limitOf(spec.behavior.scaleDown, input, -1))
  const least = Math.max(spec.minReplicas, rate)
  return wanted >= least
    ? { replicas: wanted, limit: withinRange }
    : { replicas: least, limit: spec.minReplicas < rate ? tooFastDown : tooFew }
}

/** Returns the size up to which (`sign` 1) or down to which (-1) the policies let the autoscaler go now. */
function limitOf(
  { selectPolicy, policies }: ScalingRules,
  { currentReplicas, history, nowMs }: NormalizeInput,
  sign: 1 | -1,
): number {
  if (selectPolicy === 'Disabled' || policies.length === 0) return currentReplicas
  const limits = policies.map(({ type, value, periodSeconds }) => {
    const changed = changeSince(history, nowMs - periodSeconds * 1000)
    const atStart = currentReplicas - changed
    if (type === 'Pods') return atStart + sign * value
    // A rise is rounded up, because it would otherwise never begin; so is the fall, to fewer replicas.
    return sign === 1 ? Math.ceil(exactPercent(atStart, 100 + value)) : Math.trunc(exactPercent(atStart, 100 - value))
  })
  const largest = sign === 1 ? Math.max(...limits) : Math.min(...limits)
  const smallest = sign === 1 ? Math.min(...limits) : Math.max(...limits)
  return selectPolicy === 'Min' ? smallest : largest
}

/** Returns a percentage; `(count * percent) / 100` of whole numbers has no error that rounding up would count. */
function exactPercent(count: number, percent: number): number {
  return (count * percent) / 100
}

function changeSince({ changes }: History, fromMs: number): number {
  return changes.filter(({ atMs }) => atMs > fromMs).reduce((sum, { change }) => sum + change, 0)
}
