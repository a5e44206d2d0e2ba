import { parseQuantity } from '../../model/quantity.ts'
import type { Pod } from '../objects/pod.ts'
import type { Autoscaler, AutoscalingSettings, Metric } from './autoscaler.ts'
import { type PodUsage, type Proposal, proposeReplicas, type UsageTarget } from './proposal.ts'

/** The use of the pods of a namespace by name, or the reason why there are no figures. */
export type UsageAnswer =
  | { readonly kind: 'usage'; readonly pods: ReadonlyMap<string, PodUsage> }
  | { readonly kind: 'unknown'; readonly why: string }

export interface MetricInput {
  readonly spec: Autoscaler['spec']
  readonly currentReplicas: number
  readonly pods: readonly Pod[]
  readonly usage: UsageAnswer
  readonly settings: AutoscalingSettings
  readonly nowMs: number
}

/** The result of one metric: the replicas that it asks for with the entry of `currentMetrics`, or why there are none. */
export type MetricResult =
  | { readonly kind: 'replicas'; readonly replicas: number; readonly name: string; readonly status: object }
  | { readonly kind: 'failed'; readonly reason: string; readonly why: string; readonly what: string }

/** Returns how many replicas one metric asks for. */
export function evaluateMetric(metric: Metric, input: MetricInput): MetricResult {
  const { type } = metric
  if (type === 'Resource' && metric.resource !== undefined)
    return evaluateResource(metric.resource, undefined, 'resource', input)
  if (type === 'ContainerResource' && metric.containerResource !== undefined)
    return evaluateResource(metric.containerResource, metric.containerResource.container, 'containerResource', input)
  return refuse(metric)
}

/** Nothing in the cluster measures pods, objects and what is outside; Kubernetes leaves that to adapters. */
function refuse({ type, pods, object, external }: Metric): MetricResult {
  const name = (pods ?? object ?? external)?.metric.name ?? ''
  const group = type === 'External' ? 'external.metrics.k8s.io' : 'custom.metrics.k8s.io'
  const why = `unable to get metric ${name}: ${type} metrics need ${group}, which this controller does not read`
  const reason = ['Pods', 'Object', 'External'].includes(type) ? `FailedGet${type}Metric` : 'InvalidMetricSourceType'
  return { kind: 'failed', reason, why, what: `failed to get ${name} ${type.toLowerCase()} metric value` }
}

type ResourceMetric = NonNullable<Metric['resource']>

function evaluateResource(
  { name: resource, target }: ResourceMetric,
  container: string | undefined,
  source: 'resource' | 'containerResource',
  input: MetricInput,
): MetricResult {
  const isContainer = source === 'containerResource'
  const reason = isContainer ? 'FailedGetContainerResourceMetric' : 'FailedGetResourceMetric'
  const what = `failed to get ${resource} ${isContainer ? 'container' : 'resource'} metric value`
  const wanted = readTarget(target)
  if (wanted === undefined)
    return { kind: 'failed', reason, what, why: 'invalid resource metric source: it has neither of the two targets' }
  const proposal = propose({ resource, container }, wanted, input)
  const aim = wanted.kind === 'utilization' ? 'utilization' : 'usage'
  if (proposal.kind === 'unknown')
    return { kind: 'failed', reason, what, why: `failed to get ${resource} ${aim}: ${proposal.why}` }
  const current = {
    ...(proposal.percent === undefined ? {} : { averageUtilization: proposal.percent }),
    averageValue: formatAmount(resource, proposal.averageThousandths),
  }
  const type = isContainer ? 'ContainerResource' : 'Resource'
  const status = { type, [source]: { name: resource, ...(isContainer && { container }), current } }
  const kindOfResource = isContainer && aim === 'utilization' ? 'container resource' : 'resource'
  const name = `${resource} ${kindOfResource}${aim === 'utilization' ? ' utilization (percentage of request)' : ''}`
  return { kind: 'replicas', replicas: proposal.replicas, name, status }
}

function propose(
  measured: { readonly resource: string; readonly container: string | undefined },
  target: UsageTarget,
  { spec, currentReplicas, pods, usage, settings, nowMs }: MetricInput,
): Proposal {
  const why =
    usage.kind === 'unknown'
      ? usage.why
      : hasAny(pods, usage.pods)
        ? undefined
        : 'no metrics returned from resource metrics API'
  if (usage.kind === 'unknown' || why !== undefined)
    return { kind: 'unknown', why: `unable to get metrics for resource ${measured.resource}: ${why}` }
  const tolerances = tolerancesOf(spec, settings)
  return proposeReplicas({ currentReplicas, pods, usage: usage.pods, measured, target, tolerances, settings, nowMs })
}

function hasAny(pods: readonly Pod[], usage: ReadonlyMap<string, PodUsage>): boolean {
  return pods.some(({ metadata }) => usage.has(metadata.name))
}

function readTarget({ averageValue, averageUtilization }: ResourceMetric['target']): UsageTarget | undefined {
  if (averageValue !== undefined) return { kind: 'average', thousandths: Number(parseQuantity(averageValue)) }
  return averageUtilization === undefined ? undefined : { kind: 'utilization', percent: averageUtilization }
}

function tolerancesOf({ behavior }: Autoscaler['spec'], { tolerance }: AutoscalingSettings) {
  const read = (text: string | undefined) => (text === undefined ? tolerance : Number(parseQuantity(text)) / 1000)
  return { up: read(behavior?.scaleUp.tolerance), down: read(behavior?.scaleDown.tolerance) }
}

const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi']

/** Formats thousandths as a quantity: `250m`, `2`, and of memory whole bytes: `24Mi`, `1000`. */
function formatAmount(resource: string, thousandths: number): string {
  if (resource !== 'memory') return thousandths % 1000 === 0 ? String(thousandths / 1000) : `${thousandths}m`
  let amount = Math.trunc(thousandths / 1000)
  let step = 0
  while (amount !== 0 && amount % 1024 === 0 && step < binarySuffixes.length - 1) {
    amount /= 1024
    step++
  }
  return `${amount}${binarySuffixes[step]}`
}
