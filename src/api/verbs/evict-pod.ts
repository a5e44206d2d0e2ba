import { formatTime, type Json, type JsonObject } from '../../model/api-object.ts'
import { matchesLabels, readLabelSelector } from '../../model/selector.ts'
import { type ApiDocument, isJsonObject, listAt, objectAt, textAt, valueAt } from '../document.ts'
import type { Answer, DeleteOptions, ItemTarget } from '../request/request.ts'
import { isPodReady } from '../resources/disruption-budgets.ts'
import { storeKey } from '../resources/keys.ts'
import { evictions } from '../resources/pod-actions.ts'
import { readDocuments } from '../resources/read-document.ts'
import { parseStored } from '../resources/stored-text.ts'
import { forbidden, internalError, notFound, renderSuccess, StatusError } from '../status.ts'
import { acceptAction } from './accept-document.ts'
import { admitAction } from './admit-request.ts'
import { deleteObject } from './delete.ts'
import { reviseObject } from './update.ts'
import type { VerbContext } from './verb-context.ts'

const budgets = { group: 'policy', plural: 'poddisruptionbudgets', kind: 'PodDisruptionBudget' }

/** The largest number of evicted Pods that a budget names and its controller has not seen go. */
const mostDisrupted = 2000

/**
 * Answers a POST of an Eviction (policy/v1) to a pod with a 201: a delete with its grace, if the budget of the pod
 * allows it. 429 where it does not; clients such as `kubectl drain` ask again.
 */
export async function evictPod(
  context: VerbContext,
  target: ItemTarget,
  body: Json,
  options: DeleteOptions,
): Promise<Answer> {
  const eviction = acceptAction(target, evictions, withCurrentVersion(body))
  await admitAction(context, target, { kind: evictions, object: eviction }, { ...options, manager: '' })
  const own = { ...context, admission: undefined }
  const pod = await readPod(context, target)
  const budget = needsNoBudget(pod.document) ? undefined : await findBudget(context, target, pod.document)
  const isSpared = budget !== undefined && !isPodReady(pod.document) && mayGoUnready(budget)
  if (budget !== undefined && !isSpared) await spend(own, target, budget, options)
  // A pod that needed no budget must not have become ready since.
  const isPending = textAt(pod.document['status'], 'phase') === 'Pending'
  const revision = isSpared || isPending ? String(pod.revision) : undefined
  await removePod(own, target, options, revision, isSpared ? budget : undefined)
  const text = renderSuccess({ name: target.name, group: '', kind: 'pods' })
  return { kind: 'document', httpCode: 201, text }
}

async function readPod({ store }: VerbContext, { resource, namespace, name }: ItemTarget) {
  const entry = await store.get(storeKey(resource, namespace, name))
  if (entry === undefined) throw notFound(resource, name)
  return { document: parseStored(resource, entry), revision: entry.revision }
}

/** Checks for a pod that does not run: it has ended, has not begun, or is being deleted. */
function needsNoBudget({ metadata, status }: ApiDocument): boolean {
  const phase = textAt(status, 'phase')
  return ['Succeeded', 'Failed', 'Pending'].includes(phase) || metadata.deletionTimestamp !== undefined
}

/** Returns the budget that selects the pod; several are an error, as in Kubernetes. */
async function findBudget(
  { store }: VerbContext,
  { namespace }: ItemTarget,
  { metadata }: ApiDocument,
): Promise<ApiDocument | undefined> {
  const all = await readDocuments(store, budgets, namespace)
  const found = all.filter(({ spec }) => {
    const selector = valueAt(spec, 'selector')
    const requirements = isJsonObject(selector) ? readLabelSelector(selector) : undefined
    return requirements !== undefined && matchesLabels(requirements, metadata.labels)
  })
  if (found.length > 1)
    throw internalError(
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    )
  return found[0]
}

/** Checks whether a budget lets go of a pod that is not ready: always, or while enough others are ready. */
function mayGoUnready({ spec, status }: ApiDocument): boolean {
  if (textAt(spec, 'unhealthyPodEvictionPolicy') === 'AlwaysAllow') return true
  const [current, desired] = [countIn(status, 'currentHealthy'), countIn(status, 'desiredHealthy')]
  return current >= desired && desired > 0
}

/** Takes one disruption from the budget, and names the pod in it until its controller has seen the pod go. */
async function spend(
  context: VerbContext,
  { namespace, name: podName }: ItemTarget,
  { metadata: { name = '' } }: ApiDocument,
  { dryRun }: DeleteOptions,
): Promise<void> {
  const resource = context.registry.find(budgets.group, 'v1', budgets.plural)
  if (resource === undefined) return
  const target: ItemTarget = { resource, namespace, name, subresource: 'status' }
  const now = formatTime(context.now())
  await reviseObject(context, target, (budget) => spent(budget, podName, now), { dryRun, manager: 'platnet' })
}

function spent(budget: ApiDocument, podName: string, now: string): ApiDocument {
  const { name = '', generation = 1 } = budget.metadata
  const status = objectAt(budget['status'])
  const [allowed, disrupted] = [countIn(status, 'disruptionsAllowed'), objectAt(status, 'disruptedPods')]
  if (countIn(status, 'observedGeneration') < generation) throw stillProcessed(name)
  if (allowed < 0) throw forbidden(budgets, name, 'pdb disruptions allowed is negative')
  if (Object.keys(disrupted).length > mostDisrupted)
    throw forbidden(budgets, name, 'DisruptedPods map too big - too many evictions not confirmed by PDB controller')
  if (allowed === 0) {
    const [desired, current] = [countIn(status, 'desiredHealthy'), countIn(status, 'currentHealthy')]
    throw exhausted(`The disruption budget ${name} needs ${desired} healthy pods and has ${current} currently`)
  }
  const conditions = allowed === 1 ? { conditions: withNoneLeft(status, now) } : {}
  const next = {
    ...status,
    ...conditions,
    disruptionsAllowed: allowed - 1,
    disruptedPods: { ...disrupted, [podName]: now },
  }
  return { ...budget, status: next }
}

/** Returns the conditions of a budget that allows no more evictions. */
function withNoneLeft(status: JsonObject, now: string): readonly Json[] {
  const type = 'DisruptionAllowed'
  const observedGeneration = countIn(status, 'observedGeneration')
  const others = listAt(status, 'conditions').filter((each) => !isJsonObject(each) || each['type'] !== type)
  const condition = {
    type,
    status: 'False',
    reason: 'InsufficientPods',
    message: '',
    lastTransitionTime: now,
    observedGeneration,
  }
  return [...others, condition]
}

const refusal = "Cannot evict pod as it would violate the pod's disruption budget."

function exhausted(message: string, retryAfterSeconds?: number): StatusError {
  const causes = [{ reason: 'DisruptionBudget', message }]
  const details = { causes, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) }
  return new StatusError('TooManyRequests', refusal, { details })
}

function stillProcessed(name: string): StatusError {
  return exhausted(`The disruption budget ${name} is still being processed by the server.`, 10)
}

/** Marks the pod as the target of a disruption, and deletes it. */
async function removePod(
  context: VerbContext,
  target: ItemTarget,
  options: DeleteOptions,
  revision: string | undefined,
  budget: ApiDocument | undefined,
): Promise<void> {
  const asked = options.preconditions.resourceVersion
  const resourceVersion = asked ?? revision
  try {
    const marked = options.dryRun ? resourceVersion : await markPod(context, target, options, resourceVersion)
    const preconditions = {
      ...options.preconditions,
      ...(resourceVersion === undefined ? {} : { resourceVersion: marked }),
    }
    await deleteObject(context, target, { ...options, preconditions })
  } catch (thrown) {
    const isConflict = thrown instanceof StatusError && thrown.code === 'Conflict'
    if (!isConflict || asked !== undefined || budget === undefined) throw thrown
    throw stillProcessed(budget.metadata.name ?? '')
  }
}

/** Writes the condition DisruptionTarget. Returns the revision of the pod with it. */
async function markPod(
  context: VerbContext,
  target: ItemTarget,
  { preconditions: { uid } }: DeleteOptions,
  resourceVersion: string | undefined,
): Promise<string | undefined> {
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
    lastTransitionTime: formatTime(context.now()),
  }
  const mark = (pod: ApiDocument): ApiDocument => {
    const status = objectAt(pod['status'])
    const others = listAt(status, 'conditions').filter((each) => textAt(each, 'type') !== condition.type)
    const metadata = { ...pod.metadata, ...(uid ? { uid } : {}), ...(resourceVersion ? { resourceVersion } : {}) }
    return { ...pod, metadata, status: { ...status, conditions: [...others, condition] } }
  }
  const answer = await reviseObject(context, { ...target, subresource: 'status' }, mark, {
    dryRun: false,
    manager: 'platnet',
  })
  return answer.kind === 'object' ? textAt(JSON.parse(answer.text) as Json, 'metadata', 'resourceVersion') : undefined
}

function countIn(status: Json | undefined, field: string): number {
  return Number(textAt(status, field) || 0)
}

/** Returns an Eviction in policy/v1: old clients send policy/v1beta1, which has the same fields. */
function withCurrentVersion(body: Json): Json {
  return isJsonObject(body) && body['apiVersion'] === 'policy/v1beta1' ? { ...body, apiVersion: 'policy/v1' } : body
}
