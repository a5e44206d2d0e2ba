import { type ApiClient, listPages, type ObjectList, orAbsent } from '../../client/index.ts'
import type { Component } from '../../loop/component.ts'
import type { ApiObject } from '../../model/api-object.ts'
import { describeError } from '../../model/errors.ts'
import type { BaseContext } from '../base-context.ts'
import type { Namespace } from '../objects/namespace.ts'
import { listServedResources, type ServedResource } from '../objects/served-resources.ts'
import { namespaceType } from '../objects/types.ts'
import { Controller, watchKeys } from '../runtime/controller.ts'
import { type Identity, identitySchema } from '../runtime/metadata.ts'
import type { WorkResult } from '../runtime/work-queue.ts'
import { type DeletionState, deletionConditions, type Remainder } from './remains.ts'

/** This controller's entry in `spec.finalizers`: it keeps a namespace until nothing is in it. */
const contentFinalizer = 'kubernetes'
/** The shortest pause between two checks. Deletion takes time and checks of many objects are slow: they take a third of the time at most. */
const leastRecheckMs = 500

/** Empties namespaces that are being deleted, custom resources included, then removes the finalizer. Its keys are namespaces. */
export function createNamespaceController(kit: BaseContext): Component {
  const { caches, metrics, log } = kit
  const namespaces = caches.of(namespaceType)
  const reconcile = async (name: string, { signal }: { signal: AbortSignal }): Promise<WorkResult> => {
    const namespace = namespaces.get(name)
    const isLeaving = namespace?.metadata.deletionTimestamp !== undefined
    if (namespace === undefined || !isLeaving || !namespace.spec.finalizers.includes(contentFinalizer)) return undefined
    const startedMs = performance.now()
    const state = await emptyNamespace(kit.client, name, signal)
    const isEmpty =
      state.remainders.length === 0 && state.discoveryError === undefined && state.contentError === undefined
    const reported = await writeConditions(namespace, state, signal)
    if (isEmpty) await finalize(kit.client, reported, signal)
    return isEmpty ? undefined : { againInMs: Math.max(leastRecheckMs, 2 * (performance.now() - startedMs)) }
  }

  async function writeConditions(namespace: Namespace, state: DeletionState, signal: AbortSignal): Promise<Namespace> {
    const conditions = deletionConditions(namespace.status.conditions, state, Date.now())
    if (conditions === namespace.status.conditions) return namespace
    const { uid, resourceVersion } = namespace.metadata
    const patch = { metadata: { uid, resourceVersion }, status: { conditions } }
    return caches.writer(namespaceType).patch(namespace, { kind: 'merge', patch }, signal, 'status')
  }

  return new Controller({
    name: 'namespace',
    watches: [watchKeys(namespaces, ({ metadata }) => [metadata.name])],
    reconcile,
    metrics,
    log: log.child('namespace'),
  })
}

/** Deletes every object in the namespace, then lists what is left. */
async function emptyNamespace(client: ApiClient, namespace: string, signal: AbortSignal): Promise<DeletionState> {
  const served = await orReason(listServedResources(client, signal), signal)
  if (typeof served === 'string') return { remainders: [], discoveryError: served, contentError: undefined }
  const remainders: Remainder[] = []
  const errors: string[] = []
  for (const resource of served.filter(({ namespaced }) => namespaced)) {
    const remainder = await orReason(emptyResource(client, resource, namespace, signal), signal)
    if (typeof remainder === 'string') errors.push(remainder)
    else if (remainder.count > 0) remainders.push(remainder)
  }
  return { remainders, discoveryError: undefined, contentError: errors.length === 0 ? undefined : errors.join('; ') }
}

/** Returns the work's result, or its error as text for a condition; the other work goes on. An aborted signal still throws. */
async function orReason<T>(work: Promise<T>, signal: AbortSignal): Promise<T | string> {
  try {
    return await work
  } catch (error) {
    if (signal.aborted) throw error
    return describeError(error)
  }
}

/**
 * Deletes the objects of one resource and returns what is left. For most resources one list is enough: they have no objects, or only ones being
 * deleted. A kind that disappeared meanwhile has no objects left.
 */
async function emptyResource(
  client: ApiClient,
  resource: ServedResource,
  namespace: string,
  signal: AbortSignal,
): Promise<Remainder> {
  const collection = { resource, namespace }
  const list = () => orAbsent(listPages(client, collection, { signal, content: 'metadata' }))
  const before = await list()
  const isStaying = ({ deletionTimestamp }: Identity) => deletionTimestamp === undefined
  const isAsked = before !== undefined && before.leftOut.length === 0 && !identitiesOf(before).some(isStaying)
  if (before === undefined || isAsked) return countRemainder(resource, before)
  await orAbsent(client.deleteCollection(collection, { signal, propagation: 'Background' }))
  return countRemainder(resource, await list())
}

function identitiesOf({ items }: ObjectList): readonly Identity[] {
  return items.map((item) => identitySchema.parse((item as ApiObject).metadata))
}

function countRemainder({ resource, group }: ServedResource, list: ObjectList | undefined): Remainder {
  const identities = list === undefined ? [] : identitiesOf(list)
  const finalizers = new Map<string, number>()
  for (const each of identities.flatMap((identity) => identity.finalizers)) {
    finalizers.set(each, (finalizers.get(each) ?? 0) + 1)
  }
  return { resource: `${resource}.${group}`, count: identities.length + (list?.leftOut.length ?? 0), finalizers }
}

/** Removes this controller's finalizer; other finalizers belong to their controllers. */
async function finalize(client: ApiClient, { metadata, spec }: Namespace, signal: AbortSignal): Promise<void> {
  const { name, uid, resourceVersion } = metadata
  const finalizers = spec.finalizers.filter((each) => each !== contentFinalizer)
  const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, uid, resourceVersion }, spec: { finalizers } }
  await orAbsent(client.update({ resource: namespaceType.resource, name, subresource: 'finalize' }, object, { signal }))
}
