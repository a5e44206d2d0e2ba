import type { Component } from '../../loop/component.ts'
import { formatTime, type JsonObject } from '../../model/api-object.ts'
import { describeError } from '../../model/errors.ts'
import type { BaseContext } from '../base-context.ts'
import { applyWrites } from '../objects/apply-writes.ts'
import { findCondition } from '../objects/conditions.ts'
import { isFinished, type Pod } from '../objects/pod.ts'
import { selects } from '../objects/selector.ts'
import { podType } from '../objects/types.ts'
import { noted, writeTarget } from '../objects/write-target.ts'
import { nameOf, podsResource, type Write } from '../objects/writes.ts'
import { groupComponents } from '../runtime/component-group.ts'
import { Controller, watchKeys } from '../runtime/controller.ts'
import { type CachedObject, keyOf } from '../runtime/resource-type.ts'
import { restAfterPass } from '../runtime/work-queue.ts'
import { countsWantedPods, expectationOf, planFailure, planStatus, type StatusPlan } from './plan.ts'
import { type Budget, budgetType } from './shapes.ts'
import { WantedPodsReader } from './wanted-pods.ts'

const written = [budgetType, podType].map((type) => noted<CachedObject>(type))

/** Creates the controller that keeps the status of PodDisruptionBudgets, by which evictions are allowed. */
export function createDisruptionController(kit: BaseContext): Component {
  return groupComponents('disruption', [createBudgetController(kit), createMarkController(kit)])
}

function createBudgetController(kit: BaseContext): Component {
  const { caches, client, events, metrics, log } = kit
  const [budgets, pods] = [caches.of(budgetType), caches.of(podType)]
  const byNamespace = pods.addIndex(({ metadata }) => [metadata.namespace ?? ''])
  const bySelector = budgets.addSelectorIndex(({ spec }) => spec.selector?.matchLabels ?? {})
  const target = writeTarget(client, caches, written)
  const reader = new WantedPodsReader(client, caches)
  const podsOf = ({ metadata, spec: { selector } }: Budget): readonly Pod[] =>
    selector === undefined
      ? []
      : byNamespace.get(metadata.namespace ?? '').filter((pod) => selects(selector, pod.metadata.labels))
  const budgetsOf = ({ metadata: { namespace = '', labels } }: Pod) =>
    bySelector
      .matching(namespace, labels)
      .filter(({ spec: { selector } }) => selector !== undefined && selects(selector, labels))
      .map((budget) => keyOf(budget))

  const plan = async (budget: Budget, signal: AbortSignal): Promise<StatusPlan> => {
    try {
      return await planCounts(budget, signal)
    } catch (error) {
      if (signal.aborted) throw error
      const write = planFailure(budget, describeError(error), Date.now())
      return { write, againInMs: undefined, overdue: [] }
    }
  }
  const planCounts = async (budget: Budget, signal: AbortSignal): Promise<StatusPlan> => {
    const selected = podsOf(budget)
    const subject = { apiVersion: budgetType.apiVersion, kind: budgetType.kind, metadata: budget.metadata }
    if (selected.length === 0) events.record(subject, 'Normal', 'NoPods', 'No matching pods found')
    const wanted = countsWantedPods(budget) ? await reader.read(selected, signal) : { count: 0, unmanaged: [] }
    if (wanted.unmanaged.length > 0) {
      const why = 'Pods without a controller cannot be counted: set minAvailable of the budget to a number'
      events.record(subject, 'Warning', 'UnmanagedPods', why)
    }
    return planStatus(budget, selected, expectationOf(budget, selected.length, wanted.count), Date.now())
  }
  return new Controller({
    name: 'disruption',
    watches: [watchKeys(budgets, (budget) => [keyOf(budget)]), watchKeys(pods, budgetsOf)],
    reconcile: async (key, { signal }) => {
      const budget = budgets.get(key)
      if (budget === undefined) return undefined
      const { write, againInMs, overdue } = await plan(budget, signal)
      for (const pod of overdue) events.record(podSubject(pod), 'Warning', 'NotDeleted', notDeleted(budget))
      await applyWrites(target, write === undefined ? [] : [write], signal)
      return { againInMs }
    },
    rest: restAfterPass,
    metrics,
    log: log.child('disruption'),
  })
}

function podSubject({ metadata }: Pod) {
  return { apiVersion: podType.apiVersion, kind: podType.kind, metadata }
}

function notDeleted({ metadata: { namespace, name } }: Budget): string {
  return `Pod was expected by PDB ${namespace}/${name} to be deleted but it wasn't`
}

const staleAfterMs = 120_000

/** Creates the controller that takes back the mark of an eviction from a pod that was not deleted. */
function createMarkController(kit: BaseContext): Component {
  const { caches, client, metrics, log } = kit
  const pods = caches.of(podType)
  const target = writeTarget(client, caches, written)
  return new Controller({
    name: 'disruption-marks',
    watches: [watchKeys(pods, (pod) => (isMarked(pod) ? [keyOf(pod)] : []))],
    reconcile: async (key, { signal }) => {
      const pod = pods.get(key)
      if (pod === undefined || !isMarked(pod)) return undefined
      const leftMs = markedAtMs(pod) + staleAfterMs - Date.now()
      if (leftMs > 0) return { againInMs: leftMs }
      await applyWrites(target, [unmark(pod)], signal)
      return undefined
    },
    metrics,
    log: log.child('disruption-marks'),
  })
}

const markType = 'DisruptionTarget'

/** Checks for a mark on a pod that runs. The mark of a node agent stays: it may end the pod much later. */
function isMarked(pod: Pod): boolean {
  const mark = findCondition(pod.status.conditions, markType)
  const isLeaving = pod.metadata.deletionTimestamp !== undefined || isFinished(pod)
  return mark?.status === 'True' && mark.reason !== 'TerminationByKubelet' && !isLeaving
}

function markedAtMs({ status }: Pod): number {
  return Date.parse(findCondition(status.conditions, markType)?.lastTransitionTime ?? '') || 0
}

function unmark(pod: Pod): Write {
  const { uid, resourceVersion } = pod.metadata
  const lastTransitionTime = formatTime(Date.now())
  const conditions = pod.status.conditions.map((each) =>
    each.type === markType ? { type: markType, status: 'False', lastTransitionTime } : each,
  )
  const patch = {
    metadata: { uid, resourceVersion },
    status: { conditions: conditions as unknown as readonly JsonObject[] },
  }
  return { verb: 'patch', target: nameOf(podsResource, pod), patch, subresource: 'status' }
}
