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

/** Ours among `spec.finalizers`: keeps a namespace until nothing is in it. */
const contentFinalizer = 'kubernetes'
/** What ends needs time, and a look at much of it takes long: it is looked at for a third of the time at most. */
const leastRecheckMs = 500

/** Empties namespaces that are being deleted, of custom resources too, and lets them go when nothing is left. Its keys are namespaces. */
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
    const told = await tell(namespace, state, signal)
    if (isEmpty) await finalize(kit.client, told, signal)
    return isEmpty ? undefined : { againInMs: Math.max(leastRecheckMs, 2 * (performance.now() - startedMs)) }
  }

  async function tell(namespace: Namespace, state: DeletionState, signal: AbortSignal): Promise<Namespace> {
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

/** Asks for the deletion of everything there is, then looks what is left of it. */
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

/** What went wrong is told in a condition; the work as a whole goes on, unless it was told to end. */
async function orReason<T>(work: Promise<T>, signal: AbortSignal): Promise<T | string> {
  try {
    return await work
  } catch (error) {
    if (signal.aborted) throw error
    return describeError(error)
  }
}

/** Most resources have nothing in a namespace, or only what was asked to go: one list tells. A kind that went away meanwhile has taken its objects along. */
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
  await orAbsent(client.deleteCollection(collection, { signal }))
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

/** Other finalizers are for others to take away. */
async function finalize(client: ApiClient, { metadata, spec }: Namespace, signal: AbortSignal): Promise<void> {
  const { name, uid, resourceVersion } = metadata
  const finalizers = spec.finalizers.filter((each) => each !== contentFinalizer)
  const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, uid, resourceVersion }, spec: { finalizers } }
  await orAbsent(client.update({ resource: namespaceType.resource, name, subresource: 'finalize' }, object, { signal }))
}
