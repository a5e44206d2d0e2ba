import { isDeepStrictEqual } from 'node:util'
import { TimeSlice } from '../../loop/time-slice.ts'
import type { Json } from '../../model/api-object.ts'
import { type ApiDocument, type Metadata, objectAt, withMetadata, without } from '../document.ts'
import type { Answer, ItemTarget, WriteOptions } from '../request/request.ts'
import { storeKey } from '../resources/keys.ts'
import { isSpecChanged, validateMetadataUpdate } from '../resources/metadata.ts'
import type { PartWrite, Resource } from '../resources/resource.ts'
import { parseStored, withRevision } from '../resources/stored-text.ts'
import { invalidField } from '../schema/field-error.ts'
import { conflict, internalError, invalid, notFound } from '../status.ts'
import type { StoredEntry } from '../store/index.ts'
import { acceptDocument, assertOnUrl } from './accept-document.ts'
import {
  type AdmissionMoment,
  isAdmitted,
  isMutated,
  mutateObject,
  validateObject,
  writeOptionsOf,
} from './admit-request.ts'
import { objectAnswer } from './answers.ts'
import { withRuleErrors } from './check-rules.ts'
import { commitChange } from './commit-change.ts'
import { createObject } from './create.ts'
import { dropDuplicateOwners } from './duplicate-owners.ts'
import { trackFields } from './track-fields.ts'
import { findStatusErrors, findUpdateErrors } from './update-errors.ts'
import type { VerbContext } from './verb-context.ts'

const attempts = 32

/** Handles a PUT: the body replaces the object, or its status. A resourceVersion in the body, unless it is 0, must be the stored one. */
export async function replaceObject(
  context: VerbContext,
  target: ItemTarget,
  body: Json,
  options: WriteOptions,
): Promise<Answer> {
  const document = acceptDocument(target, body)
  assertOnUrl(target, document)
  const named = withMetadata(document, { name: document.metadata.name || target.name })
  if (await isToCreate(context, target)) return createNamed(context, target, named, options)
  return reviseObject(context, target, () => withNeededRevision(target, named), options)
}

async function isToCreate({ store }: VerbContext, target: ItemTarget): Promise<boolean> {
  const { resource, namespace, name, subresource } = target
  if (resource.strategy.createsOnUpdate !== true || subresource !== undefined) return false
  return (await store.get(storeKey(resource, namespace, name))) === undefined
}

/** Creates the object that a PUT names. The body may not name a uid: an object that does not exist has none. */
function createNamed(
  context: VerbContext,
  target: ItemTarget,
  document: ApiDocument,
  options: WriteOptions,
): Promise<Answer> {
  const { uid } = document.metadata
  if (uid)
    throw conflict(
      target.resource,
      target.name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: `,
    )
  return createObject(context, target, document, options)
}

/** Checks that the body names a resourceVersion where the kind needs one; a missing object is a 404 before that. */
function withNeededRevision({ resource, name, subresource }: ItemTarget, document: ApiDocument): ApiDocument {
  const { needsRevision } = resource.strategy
  const isNeeded = needsRevision === 'object-and-status' || (needsRevision === 'object' && subresource === undefined)
  if (!isNeeded || isRevision(document.metadata.resourceVersion)) return document
  // Kubernetes names the resource here, where other errors name the kind.
  const named = { ...resource, kind: resource.plural }
  throw invalid(named, name, [invalidField('metadata.resourceVersion', 0, 'must be specified for an update')])
}

/** Checks whether a writer names a version: for kube-apiserver, 0 is none. */
function isRevision(resourceVersion: string | undefined): boolean {
  return resourceVersion !== undefined && resourceVersion !== '' && resourceVersion !== '0'
}

/** An object as the body of one of its subresources: `take` writes a changed body to the object. */
export interface ShownForm {
  readonly kind: Resource
  readonly show: (document: ApiDocument) => ApiDocument
  readonly take: (document: ApiDocument, shown: ApiDocument) => ApiDocument
}

export interface ReviseOptions extends WriteOptions {
  /** The form in which admission sees the object of a subresource whose body is of another kind. */
  readonly shown?: ShownForm
}

/**
 * Reads, revises, checks and writes an object; it starts again after a conflict. `revise` gets the stored object with
 * its resourceVersion and returns the wanted one. A 409 is thrown if that has a resourceVersion other than the stored
 * one.
 */
export async function reviseObject(
  context: VerbContext,
  target: ItemTarget,
  revise: (current: ApiDocument) => ApiDocument | Promise<ApiDocument>,
  options: ReviseOptions,
): Promise<Answer> {
  const { resource, namespace, name } = target
  for (let attempt = 0; attempt < attempts; attempt++) {
    const entry = await context.store.get(storeKey(resource, namespace, name))
    if (entry === undefined) throw notFound(resource, name)
    const slice = new TimeSlice()
    const old = parseStored(resource, entry)
    await slice.whenSpent()
    const revised = dropDuplicateOwners(await revise(withRevision(old, entry.revision)), context.warn)
    await slice.whenSpent()
    const next = await complete(context, target, { revised, old, entry }, options, slice)
    await slice.whenSpent()
    if (isDeepStrictEqual(next, old)) return objectAnswer(resource, { document: old, revision: entry.revision })
    await slice.whenSpent()
    const change = { target, name, old, next: isGone(resource, next) ? undefined : next, revision: entry.revision }
    const result = await commitChange(context, change, options)
    if (result.kind === 'done') return objectAnswer(resource, { ...result, document: result.next ?? next })
  }
  throw internalError('the object is being changed by too many writers; please try again')
}

interface Revision {
  readonly revised: ApiDocument
  readonly old: ApiDocument
  readonly entry: StoredEntry
}

/** Returns the object to store: changed by admission, validated, with its managed fields. Rejects with a Status. */
async function complete(
  context: VerbContext,
  target: ItemTarget,
  revision: Revision,
  options: ReviseOptions,
  slice: TimeSlice,
): Promise<ApiDocument> {
  const { revised, old, entry } = revision
  const mutated = await mutate(context, target, revision, options)
  const settled = await settle(target, mutated, old, entry)
  await slice.whenSpent()
  // Fields that admission changes have no manager.
  const written = mutated === revised ? settled : mergeParts(target, revised, old)
  const write = { old, next: written, requested: revised.metadata['managedFields'] }
  const tracked = await trackFields(context, target, write, options, slice)
  const next = mutated === revised ? tracked : withManagersOf(tracked, settled)
  if (!isAdmitted(context)) return next
  await slice.whenSpent()
  const shown = shownBy(options, withRevision(next, entry.revision), withRevision(old, entry.revision))
  await validateObject(context, momentOf(target, shown, options))
  return next
}

type Objects = Pick<AdmissionMoment, 'object' | 'oldObject' | 'kind'>

/** Returns the object with the changes of admission, accepted like one that a client sends. */
async function mutate(
  context: VerbContext,
  target: ItemTarget,
  { revised, old, entry }: Revision,
  options: ReviseOptions,
): Promise<ApiDocument> {
  if (!isMutated(context)) return revised
  const objects = shownBy(options, revised, withRevision(old, entry.revision))
  const changed = await mutateObject(context, momentOf(target, objects, options))
  if (changed === undefined || changed === objects.object) return revised
  return options.shown === undefined ? acceptDocument(target, changed) : options.shown.take(revised, changed)
}

function momentOf(target: ItemTarget, objects: Objects, options: WriteOptions): AdmissionMoment {
  const updated = writeOptionsOf('UpdateOptions', options)
  return { operation: 'UPDATE', target, ...objects, options: updated, isDryRun: options.dryRun }
}

/** Returns the objects as admission sees them. */
function shownBy({ shown }: ReviseOptions, object: ApiDocument, oldObject: ApiDocument): Objects {
  if (shown === undefined) return { object, oldObject }
  return { kind: shown.kind, object: shown.show(object), oldObject: shown.show(oldObject) }
}

function withManagersOf(tracked: ApiDocument, settled: ApiDocument): ApiDocument {
  return withMetadata(settled, { managedFields: tracked.metadata['managedFields'] })
}

/** Checks whether nothing keeps a deleted object any more. Only another delete ends a grace that still runs. */
function isGone({ strategy }: Resource, document: ApiDocument): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = document.metadata
  const isKept = deletionGracePeriodSeconds > 0 || finalizers.length > 0 || strategy.isHeld?.(document) === true
  return deletionTimestamp !== undefined && !isKept
}

/**
 * Returns the validated document to store: system fields from the old one, and the parts that this request may not
 * change restored.
 */
async function settle(
  target: ItemTarget,
  revised: ApiDocument,
  old: ApiDocument,
  entry: StoredEntry,
): Promise<ApiDocument> {
  const { resource } = target
  assertOnUrl(target, revised)
  assertCurrent(target, revised, old, entry)
  const admitted = (await partOf(target)?.admit?.(revised, target.namespace ?? '')) ?? revised
  const merged = mergeParts(target, admitted, old)
  // As in Kubernetes, a binding does not count: a Pod that nothing else changed has the generation 1.
  const next = target.subresource === 'binding' ? merged : countGeneration(resource, merged, old)
  const own = [
    ...validateMetadataUpdate(revised.metadata, next.metadata, old.metadata),
    ...findUpdateErrors(resource, next, old, partOf(target)?.validateUpdate),
    ...(target.subresource === 'status' ? findStatusErrors(resource, next, old) : []),
  ]
  const errors = await withRuleErrors(resource, own, next, old)
  if (errors.length > 0) throw invalid(resource, target.name, errors)
  return next
}

/** Returns how the subresource of a request writes a part of the spec; undefined for the object and other subresources. */
function partOf({ resource, subresource }: ItemTarget): PartWrite | undefined {
  return subresource && resource.strategy.parts?.[subresource]
}

function assertCurrent(
  { resource, name }: ItemTarget,
  revised: ApiDocument,
  old: ApiDocument,
  entry: StoredEntry,
): void {
  const { uid, resourceVersion } = revised.metadata
  if (uid && uid !== old.metadata.uid) {
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${old.metadata.uid}`
    throw conflict(resource, name, why)
  }
  if (isRevision(resourceVersion) && resourceVersion !== String(entry.revision)) throw conflict(resource, name)
}

function mergeParts(target: ItemTarget, revised: ApiDocument, old: ApiDocument): ApiDocument {
  const { resource, subresource } = target
  if (subresource === 'status' || subresource === 'approval') {
    const metadata = statusMetadata(resource, revised.metadata, old.metadata)
    const next = withStatus({ ...old, metadata }, revised)
    return resource.strategy.prepareStatus?.(next, old, subresource) ?? next
  }
  const part = partOf(target)
  if (part !== undefined) return part.merge(revised, old)
  if (subresource === 'finalize') return { ...old, spec: objectAt(revised['spec']) }
  if (subresource === 'binding') return { ...revised, metadata: systemMetadata(revised.metadata, old.metadata) }
  const kept = resource.subresources.includes('status') ? withStatus(revised, old) : revised
  const next = { ...kept, metadata: systemMetadata(revised.metadata, old.metadata) }
  return resource.strategy.prepareForUpdate?.(next, old) ?? next
}

/** Returns the metadata after a write of the status. */
function statusMetadata({ strategy }: Resource, revised: Metadata, old: Metadata): Metadata {
  const { statusLeaves = [] } = strategy
  if (statusLeaves === 'metadata') return old
  const kept = Object.entries(old).filter(([field]) => statusLeaves.includes(field))
  return { ...without(systemMetadata(revised, old), ...statusLeaves), ...Object.fromEntries(kept) }
}

function withStatus(document: ApiDocument, source: ApiDocument): ApiDocument {
  const status = source['status']
  return status === undefined ? without(document, 'status') : { ...document, status }
}

const systemFields = ['uid', 'creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'generation']

function systemMetadata(revised: Metadata, old: Metadata): Metadata {
  const own = without(revised, 'resourceVersion', 'managedFields', ...systemFields)
  const system = Object.entries(old).filter(([field]) => systemFields.includes(field))
  return { ...own, ...Object.fromEntries(system) }
}

function countGeneration(resource: Resource, next: ApiDocument, old: ApiDocument): ApiDocument {
  if (!resource.countsGeneration || !isSpecChanged(resource, next, old)) return next
  return withMetadata(next, { generation: (old.metadata.generation ?? 0) + 1 })
}
