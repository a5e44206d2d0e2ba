import { parseQuantity } from '../../model/quantity.ts'
import { isReady, type Pod, readyCondition } from '../objects/pod.ts'
import type { AutoscalingSettings } from './autoscaler.ts'

/** The measured use of one pod: thousandths of the resource by container. */
export interface PodUsage {
  readonly atMs: number
  readonly windowMs: number
  readonly containers: ReadonlyMap<string, Readonly<Record<string, number>>>
}

/** A resource of all containers of a pod, or of one. */
interface MeasuredResource {
  readonly resource: string
  readonly container: string | undefined
}

/** The wanted share of the requests in percent, or the wanted average in thousandths. */
export type UsageTarget =
  | { readonly kind: 'utilization'; readonly percent: number }
  | { readonly kind: 'average'; readonly thousandths: number }

export interface ProposalInput {
  readonly currentReplicas: number
  readonly pods: readonly Pod[]
  /** The use of pods by name. */
  readonly usage: ReadonlyMap<string, PodUsage>
  readonly measured: MeasuredResource
  readonly target: UsageTarget
  readonly tolerances: { readonly up: number; readonly down: number }
  readonly settings: Pick<AutoscalingSettings, 'cpuInitializationPeriodMs' | 'initialReadinessDelayMs'>
  readonly nowMs: number
}

export type Proposal =
  | {
      readonly kind: 'replicas'
      readonly replicas: number
      /** The measured average of a pod, in thousandths. */
      readonly averageThousandths: number
      /** The measured share of the requests in percent, for such a target. */
      readonly percent?: number
    }
  | { readonly kind: 'unknown'; readonly why: string }

/** A pod, what it uses and what it requests, both in thousandths. */
interface Measured {
  readonly used: number
  readonly requested: number
}

/**
 * Returns the number of replicas that brings one resource to its target, by Kubernetes' rules: pods that are not ready or have no
 * figures count so that they make any change smaller.
 */
export function proposeReplicas(input: ProposalInput): Proposal {
  const { currentReplicas, pods, measured, target, tolerances } = input
  if (pods.length === 0) return unknown('no pods returned by selector while calculating replica count')
  const groups = groupPods(input)
  if (groups.ready.length === 0) return unknown('did not receive metrics for targeted pods (pods might be unready)')
  const requests = target.kind === 'average' ? new Map<string, number>() : requestsOf(pods, measured)
  if (typeof requests === 'string') return unknown(requests)
  const requestOf = (pod: Pod) => requests.get(pod.metadata.name) ?? 0
  const known = groups.ready.map(({ pod, used }): Measured => ({ used, requested: requestOf(pod) }))
  const first = ratioOf(known, target)
  if (first === undefined) return unknown('no metrics returned matched known pods')
  const others = assumeOthers(groups, requestOf, target, first.ratio)
  const all = [...known, ...others]
  const ratio = others.length === 0 ? first.ratio : (ratioOf(all, target)?.ratio ?? 1)
  const replicas = Math.ceil(ratio * all.length)
  const isWithin = 1 - tolerances.down <= ratio && ratio <= 1 + tolerances.up
  const isKept = isWithin || (others.length > 0 && changesDirection(first.ratio, ratio, replicas, currentReplicas))
  return { kind: 'replicas', replicas: isKept ? currentReplicas : replicas, ...first.measured }
}

/** Checks whether the assumed pods turn a rise into a fall or the other way, by the ratio or by the number of replicas. */
function changesDirection(first: number, ratio: number, replicas: number, current: number): boolean {
  const turns = (first < 1 && ratio > 1) || (first > 1 && ratio < 1)
  return turns || (ratio < 1 && replicas > current) || (ratio > 1 && replicas < current)
}

/** Returns the use to assume for pods without figures, and, for a scale up, for those that are not ready. */
function assumeOthers(
  { missing, unready }: PodGroups,
  requestOf: (pod: Pod) => number,
  target: UsageTarget,
  ratio: number,
): readonly Measured[] {
  if (ratio === 1) return []
  const counted = ratio > 1 ? [...missing, ...unready] : missing
  return counted.map((pod) => assumedUse(requestOf(pod), target, ratio))
}

function unknown(why: string): Proposal {
  return { kind: 'unknown', why }
}

/** Returns the use to assume for a pod without figures: all of its request for a scale down, none for a scale up. */
function assumedUse(requested: number, target: UsageTarget, ratio: number): Measured {
  if (ratio > 1) return { used: 0, requested }
  const full =
    target.kind === 'average' ? target.thousandths : Math.trunc((requested * Math.max(100, target.percent)) / 100)
  return { used: full, requested }
}

/** Returns the ratio of use to target; undefined where the pods request nothing. Whole percents, as in Kubernetes. */
function ratioOf(pods: readonly Measured[], target: UsageTarget) {
  const used = pods.reduce((sum, pod) => sum + pod.used, 0)
  const averageThousandths = Math.trunc(used / pods.length)
  if (target.kind === 'average')
    return { ratio: averageThousandths / target.thousandths, measured: { averageThousandths } }
  const requested = pods.reduce((sum, pod) => sum + pod.requested, 0)
  if (requested === 0) return undefined
  const percent = Math.trunc((used * 100) / requested)
  return { ratio: percent / target.percent, measured: { averageThousandths, percent } }
}

interface PodGroups {
  readonly ready: readonly { readonly pod: Pod; readonly used: number }[]
  readonly unready: readonly Pod[]
  readonly missing: readonly Pod[]
}

/** Pods that end or have failed are in no group. */
function groupPods(input: ProposalInput): PodGroups {
  const ready: { readonly pod: Pod; readonly used: number }[] = []
  const unready: Pod[] = []
  const missing: Pod[] = []
  for (const pod of input.pods) {
    if (pod.metadata.deletionTimestamp !== undefined || pod.status.phase === 'Failed') continue
    const usage = input.usage.get(pod.metadata.name)
    const used = usage && usedBy(usage, input.measured)
    if (pod.status.phase === 'Pending') unready.push(pod)
    else if (usage === undefined || used === undefined) missing.push(pod)
    else if (input.measured.resource === 'cpu' && isUnready(pod, usage, input)) unready.push(pod)
    else ready.push({ pod, used })
  }
  return { ready, unready, missing }
}

/** Returns the use in thousandths; undefined if a container without a figure counts. */
function usedBy({ containers }: PodUsage, { resource, container }: MeasuredResource): number | undefined {
  const counted = container === undefined ? [...containers.values()] : [containers.get(container) ?? {}]
  const amounts = counted.map((each) => each[resource])
  if (amounts.length === 0 || amounts.includes(undefined)) return undefined
  return amounts.reduce<number>((sum, amount) => sum + (amount ?? 0), 0)
}

/** Checks whether the CPU use says nothing yet: a pod that starts often uses much more than one that works. */
function isUnready(pod: Pod, { atMs, windowMs }: PodUsage, { settings, nowMs }: ProposalInput): boolean {
  const condition = readyCondition(pod)
  const startedMs = Date.parse(pod.status.startTime ?? '')
  if (condition === undefined || Number.isNaN(startedMs)) return true
  const changedMs = Date.parse(condition.lastTransitionTime ?? '') || 0
  if (startedMs + settings.cpuInitializationPeriodMs > nowMs) return !isReady(pod) || atMs < changedMs + windowMs
  return !isReady(pod) && startedMs + settings.initialReadinessDelayMs > changedMs
}

/** Returns the requests by pod in thousandths; a text says which container has none. */
function requestsOf(
  pods: readonly Pod[],
  { resource, container }: MeasuredResource,
): ReadonlyMap<string, number> | string {
  const requests = new Map<string, number>()
  for (const { metadata, spec } of pods) {
    const running = [...spec.containers, ...spec.initContainers.filter((each) => each.restartPolicy === 'Always')]
    let sum = 0
    for (const each of running.filter(({ name }) => container === undefined || name === container)) {
      const request = each.resources?.requests[resource]
      if (request === undefined)
        return `missing request for ${resource} in container ${each.name} of Pod ${metadata.name}`
      sum += Number(parseQuantity(String(request)))
    }
    requests.set(metadata.name, sum)
  }
  return requests
}
