import { isDeepStrictEqual } from 'node:util'
import type { ObjectRef } from '../../client/index.ts'
import type { Component } from '../../loop/component.ts'
import { describeError } from '../../model/errors.ts'
import { type LabelSelector, matchesLabels, parseLabelSelector } from '../../model/selector.ts'
import type { BaseContext } from '../base-context.ts'
import type { Pod } from '../objects/pod.ts'
import { podType } from '../objects/types.ts'
import type { AutoscalerMetrics, ScalingAction } from '../runtime/autoscaler-metrics.ts'
import { Controller, watchKeys } from '../runtime/controller.ts'
import type { ObjectCache } from '../runtime/object-cache.ts'
import { labelTerm, labelTerms, type ObjectIndex } from '../runtime/object-index.ts'
import { keyOf } from '../runtime/resource-type.ts'
import { type Autoscaler, type AutoscalingSettings, autoscalerType } from './autoscaler.ts'
import { type History, noHistory } from './behavior.ts'
import {
  afterFailedRescale,
  afterRescale,
  conditionsAfter,
  type Plan,
  type PlannedEvent,
  planScaling,
  type Scale,
  statusAfter,
} from './plan.ts'
import { PodUsageReader } from './pod-usage-reader.ts'
import { ScaleTargets } from './scale-targets.ts'
import { TargetSelectors } from './selectors.ts'

/** Scales the targets of HorizontalPodAutoscalers. Its keys are the autoscalers; each is worked on every `syncPeriodMs`. */
export function createAutoscalingController(context: BaseContext, settings: AutoscalingSettings): Component {
  const { caches, metrics, log } = context
  const autoscalers = caches.of(autoscalerType)
  const scaler = new Autoscaling(context, settings)
  return new Controller({
    name: 'horizontalpodautoscaling',
    watches: [watchKeys(autoscalers, (each) => [keyOf(each)], { isSame: hasSameSpec })],
    reconcile: (key, scope) => scaler.reconcile(key, scope.signal),
    workers: settings.concurrentSyncs,
    metrics,
    log: log.child('horizontalpodautoscaling'),
  })
}

/** A change of the status alone is mostly our own. */
function hasSameSpec(old: Autoscaler, next: Autoscaler): boolean {
  return old.metadata.uid === next.metadata.uid && isDeepStrictEqual(old.spec, next.spec)
}

/** The effects around `planScaling`: reads scale, pods and figures; writes the scale, the status and Events. */
class Autoscaling {
  readonly #context: BaseContext
  readonly #settings: AutoscalingSettings
  readonly #autoscalers: ObjectCache<Autoscaler>
  readonly #podsByLabel: ObjectIndex<Pod>
  readonly #pods: ObjectCache<Pod>
  readonly #targets: ScaleTargets
  readonly #usage: PodUsageReader
  readonly #selectors = new TargetSelectors()
  readonly #histories = new Map<string, History>()
  readonly #metrics: AutoscalerMetrics

  constructor(context: BaseContext, settings: AutoscalingSettings) {
    const { caches, client, dialect } = context
    this.#context = context
    this.#settings = settings
    this.#autoscalers = caches.of(autoscalerType)
    this.#pods = caches.of(podType)
    this.#podsByLabel = this.#pods.addIndex(labelTerms)
    this.#targets = new ScaleTargets(client)
    this.#usage = new PodUsageReader(client, dialect)
    this.#metrics = context.metrics.autoscaler()
  }

  async reconcile(key: string, signal: AbortSignal): Promise<{ againInMs: number } | undefined> {
    const autoscaler = this.#autoscalers.get(key)
    if (autoscaler === undefined || autoscaler.metadata.deletionTimestamp !== undefined) {
      this.#selectors.delete(key)
      this.#histories.delete(key)
      return undefined
    }
    const startedMs = performance.now()
    const { action, hasFailed } = await this.#scale(key, autoscaler, signal)
    this.#metrics.observeReconciliation(action, hasFailed ? 'internal' : 'none', performance.now() - startedMs)
    return { againInMs: this.#settings.syncPeriodMs }
  }

  async #scale(
    key: string,
    autoscaler: Autoscaler,
    signal: AbortSignal,
  ): Promise<{ readonly action: ScalingAction; readonly hasFailed: boolean }> {
    let found: { readonly target: ObjectRef; readonly scale: Scale }
    try {
      const { namespace } = autoscaler.metadata
      const target = await this.#targets.find(autoscaler.spec.scaleTargetRef, namespace, signal)
      found = { target, scale: await this.#targets.read(target, signal) }
    } catch (error) {
      if (signal.aborted) throw error
      await this.#reportNoScale(autoscaler, describeError(error), signal)
      return { action: 'none', hasFailed: true }
    }
    const plan = await this.#plan(key, autoscaler, found.scale)
    const done = await this.#carryOut(plan, found.target, signal)
    this.#histories.set(key, done.history)
    await this.#report(autoscaler, done, signal)
    const action = done.rescaleReason === undefined ? 'none' : actionOf(done.desiredReplicas - done.currentReplicas)
    return { action, hasFailed: done.events.some(({ type }) => type === 'Warning') }
  }

  async #plan(key: string, autoscaler: Autoscaler, scale: Scale): Promise<Plan> {
    const startedMs = performance.now()
    const { namespace = '' } = autoscaler.metadata
    const { pods, selectorProblem } = this.#findPods(key, namespace, scale.selector)
    const usage = await this.#usage.read(namespace)
    const history = this.#histories.get(key) ?? noHistory
    const settings = this.#settings
    const nowMs = Date.now()
    const plan = planScaling({ autoscaler, scale, pods, selectorProblem, usage, history, settings, nowMs })
    const durationMs = performance.now() - startedMs
    for (const [index, result] of plan.results.entries()) {
      const type = autoscaler.spec.metrics[index]?.type ?? ''
      const isKnown = result.kind === 'replicas'
      const action = isKnown ? actionOf(result.replicas - plan.currentReplicas) : 'none'
      this.#metrics.observeMetric(type, action, isKnown ? 'none' : 'internal', durationMs)
    }
    return plan
  }

  /** Finds the pods of a target, unless another autoscaler has one of them too. */
  #findPods(
    key: string,
    namespace: string,
    text: string,
  ): { readonly pods: readonly Pod[]; readonly selectorProblem: PlannedEvent | undefined } {
    const problem = (reason: string, message: string) => {
      return { pods: [], selectorProblem: { type: 'Warning' as const, reason, message } }
    }
    if (text === '') return problem('SelectorRequired', 'selector is required')
    let selector: LabelSelector
    try {
      selector = parseLabelSelector(text)
    } catch (error) {
      return problem('InvalidSelector', `couldn't read the selector of the target: ${describeError(error)}`)
    }
    this.#selectors.set(key, namespace, selector)
    const pods = this.#select(namespace, selector)
    const keys = this.#selectors.having(pods)
    if (keys.length <= 1) return { pods, selectorProblem: undefined }
    const message = `pods by selector ${text} are controlled by multiple HPAs: ${keys.join(', ')}`
    return problem('AmbiguousSelector', message)
  }

  #select(namespace: string, selector: LabelSelector): readonly Pod[] {
    const equal = selector.flatMap(({ key, operator, values }) =>
      operator === 'in' && values.length === 1 ? [labelTerm(namespace, key, values[0] ?? '')] : [],
    )
    const rarest = this.#podsByLabel.rarest(equal)
    const candidates = rarest === undefined ? [...this.#pods.list()] : this.#podsByLabel.get(rarest)
    return candidates.filter(
      ({ metadata }) => metadata.namespace === namespace && matchesLabels(selector, metadata.labels),
    )
  }

  async #carryOut(plan: Plan, target: ObjectRef, signal: AbortSignal): Promise<Plan> {
    if (plan.rescaleReason === undefined) return plan
    try {
      await this.#targets.write(target, plan.desiredReplicas, signal)
    } catch (error) {
      if (signal.aborted) throw error
      return afterFailedRescale(plan, describeError(error))
    }
    const { desiredReplicas, currentReplicas, rescaleReason } = plan
    const object = `${target.resource.resource} ${target.namespace}/${target.name}`
    this.#context.log.info('a target is scaled', { object, currentReplicas, desiredReplicas, reason: rescaleReason })
    return afterRescale(plan, Date.now())
  }

  async #reportNoScale(autoscaler: Autoscaler, error: string, signal: AbortSignal): Promise<void> {
    this.#record(autoscaler, [{ type: 'Warning', reason: 'FailedGetScale', message: error }])
    const message = `the HPA controller was unable to get the target's current scale: ${error}`
    const change = { type: 'AbleToScale', status: 'False', reason: 'FailedGetScale', message } as const
    const conditions = conditionsAfter(autoscaler.status.conditions, [change], Date.now())
    await this.#writeStatus(autoscaler, { conditions }, signal)
  }

  async #report(autoscaler: Autoscaler, plan: Plan, signal: AbortSignal): Promise<void> {
    this.#record(autoscaler, plan.events)
    await this.#writeStatus(autoscaler, statusAfter(autoscaler, plan, Date.now()), signal)
  }

  /** Writes a status that differs. Of an autoscaler that was deleted meanwhile nothing is written. */
  async #writeStatus(
    autoscaler: Autoscaler,
    status: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<void> {
    const old: Readonly<Record<string, unknown>> = autoscaler.status
    const isSame = Object.entries(status).every(([field, value]) => isDeepStrictEqual(old[field] ?? null, value))
    if (isSame) return
    const patch = { metadata: { uid: autoscaler.metadata.uid }, status }
    await this.#context.caches.writer(autoscalerType).patch(autoscaler, { kind: 'merge', patch }, signal, 'status')
  }

  #record(autoscaler: Autoscaler, events: readonly PlannedEvent[]): void {
    const { apiVersion, kind } = autoscalerType
    const subject = { apiVersion, kind, metadata: autoscaler.metadata }
    for (const { type, reason, message } of events) this.#context.events.record(subject, type, reason, message)
  }
}

function actionOf(change: number): ScalingAction {
  if (change === 0) return 'none'
  return change > 0 ? 'scale_up' : 'scale_down'
}
