import { TimeSlice } from '../../loop/time-slice.ts'
import { formatTime, type Json, type JsonObject } from '../../model/api-object.ts'
import { type ApiDocument, type Metadata, textAt, without } from '../document.ts'
import type { Answer, Target, WriteOptions } from '../request/request.ts'
import { storeKey } from '../resources/keys.ts'
import { validateMetadata } from '../resources/metadata.ts'
import type { Resource } from '../resources/resource.ts'
import { coerce } from '../schema/coerce.ts'
import { alreadyExists, forbidden, invalid, notFound } from '../status.ts'
import type { StoredEntry } from '../store/index.ts'
import { atOnce } from '../store/wait-for-revision.ts'
import { acceptDocument } from './accept-document.ts'
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
import { dropDuplicateOwners } from './duplicate-owners.ts'
import { trackFields } from './track-fields.ts'
import type { VerbContext } from './verb-context.ts'

const generatedNameAttempts = 8
const generatedNameLetters = 'bcdfghjklmnpqrstvwxz2456789'
const generatedNameLength = 5
const generatedBaseLength = 58

/** Creates an object: 201; 409 AlreadyExists, 404 for a missing namespace, 422 for errors. */
export async function createObject(
  context: VerbContext,
  target: Target,
  body: Json,
  options: WriteOptions,
): Promise<Answer> {
  const slice = new TimeSlice()
  const accepted = dropDuplicateOwners(acceptDocument(target, body), context.warn)
  await slice.whenSpent()
  const isNameGenerated = !accepted.metadata.name && Boolean(accepted.metadata.generateName)
  for (let attempt = 1; ; attempt++) {
    const prepared = prepare(context, target.resource, accepted)
    const write = { old: undefined, next: prepared, requested: accepted.metadata['managedFields'] }
    const tracked = await trackFields(context, target, write, options, slice)
    await slice.whenSpent()
    const completed = await admit(context, target, tracked, accepted.metadata)
    const document = await mutate(context, target, completed, { options, given: accepted.metadata })
    const name = await validName(target.resource, document)
    await slice.whenSpent()
    await assertNamespaceOpen(context, target, name)
    if (isAdmitted(context)) await validateObject(context, momentOf({ ...target, name }, document, options))
    const exists = (await context.store.get(storeKey(target.resource, target.namespace, name))) !== undefined
    const change = { target, name, old: undefined, next: document, revision: 0 }
    const result = exists ? undefined : await commitChange(context, change, options)
    if (result?.kind === 'done')
      return objectAnswer(target.resource, { ...result, document: result.next ?? document }, 201)
    if (!isNameGenerated || attempt === generatedNameAttempts) throw alreadyExists(target.resource, name)
  }
}

/**
 * Checks the namespace, then admits the object. Kubernetes checks the namespace before admission and validation; it is
 * checked again before the commit, because admission and waits take time.
 */
async function admit(
  context: VerbContext,
  target: Target,
  document: ApiDocument,
  given: Metadata,
): Promise<ApiDocument> {
  const { resource, namespace = '' } = target
  const name = given.name || given.generateName || 'Unknown'
  await assertNamespaceOpen(context, target, name)
  if (resource.strategy.admit === undefined) return document
  const newName = (base: string) => generateName(context, base)
  const { user, aside = atOnce } = context
  return resource.strategy.admit(document, { namespace, name, user, newName, aside })
}

const setByServer: readonly string[] = ['uid', 'creationTimestamp', 'generation']

/**
 * Returns the object with the changes of mutating steps, accepted, prepared and admitted like one that a client sends:
 * a container that a webhook adds gets its token, and no webhook leads around the bounds of a namespace.
 */
async function mutate(
  context: VerbContext,
  target: Target,
  document: ApiDocument,
  { options, given }: { readonly options: WriteOptions; readonly given: Metadata },
): Promise<ApiDocument> {
  if (!isMutated(context)) return document
  const name = given.name ?? ''
  const hidden = name === '' ? [...setByServer, 'name'] : setByServer
  const shown = { ...document, metadata: without(document.metadata, ...hidden) }
  const changed = await mutateObject(context, momentOf({ ...target, name }, shown, options))
  if (changed === shown || changed === undefined) return document
  const prepared = prepare(context, target.resource, acceptDocument(target, changed))
  const kept = Object.entries(document.metadata).filter(
    ([field]) => hidden.includes(field) || field === 'managedFields',
  )
  const named = { ...prepared, metadata: { ...prepared.metadata, ...Object.fromEntries(kept) } }
  return admit(context, target, named, given)
}

function momentOf(target: Target, object: ApiDocument, options: WriteOptions): AdmissionMoment {
  const created = writeOptionsOf('CreateOptions', options)
  return { operation: 'CREATE', target, object, oldObject: undefined, options: created, isDryRun: options.dryRun }
}

function prepare(context: VerbContext, resource: Resource, accepted: ApiDocument): ApiDocument {
  const dropsStatus = resource.subresources.includes('status') && resource.strategy.keepsStatusOnCreate !== true
  const document = dropsStatus ? { ...without(accepted, 'status'), ...initialStatus(resource) } : accepted
  const own = without(
    document.metadata,
    'resourceVersion',
    'generation',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
    'managedFields',
  )
  const metadata = {
    ...own,
    ...nameOf(context, accepted),
    uid: context.newUid(),
    creationTimestamp: formatTime(context.now()),
    ...(resource.countsGeneration ? { generation: 1 } : {}),
  }
  const prepared = { ...document, metadata }
  return resource.strategy.prepareForCreate?.(prepared) ?? prepared
}

/** Returns the status of a new object: the defaults of its schema. */
function initialStatus({ schema }: Resource): JsonObject {
  const status = schema.properties?.['status']
  if (status?.default === undefined) return {}
  return { status: coerce(status, status.default).value }
}

function nameOf(context: VerbContext, { metadata }: ApiDocument): { name?: string } {
  if (metadata.name || !metadata.generateName) return {}
  return { name: generateName(context, metadata.generateName) }
}

/** Generates a name. It uses join because JSON.stringify is slower for a text that an operator concatenated. */
function generateName({ pickBelow }: VerbContext, base: string): string {
  const letters = Array.from(
    { length: generatedNameLength },
    () => generatedNameLetters[pickBelow(generatedNameLetters.length)],
  )
  return [base.slice(0, generatedBaseLength), ...letters].join('')
}

async function validName(resource: Resource, document: ApiDocument): Promise<string> {
  const own = [...validateMetadata(resource, document), ...(resource.strategy.validate?.(document, undefined) ?? [])]
  const errors = await withRuleErrors(resource, own, document, undefined)
  const name = document.metadata.name ?? ''
  if (errors.length > 0) throw invalid(resource, name, errors)
  return name
}

async function assertNamespaceOpen(context: VerbContext, target: Target, name: string): Promise<void> {
  if (target.namespace === undefined) return
  const entry = await context.store.get(storeKey({ plural: 'namespaces' }, undefined, target.namespace))
  if (entry === undefined) throw notFound({ group: '', plural: 'namespaces', kind: 'Namespace' }, target.namespace)
  if (!isTerminating(entry)) return
  const why = `unable to create new content in namespace ${target.namespace} because it is being terminated`
  const cause = {
    reason: 'NamespaceTerminating',
    message: `namespace ${target.namespace} is being terminated`,
    field: 'metadata.namespace',
  }
  throw forbidden(target.resource, name, why, [cause])
}

/**
 * Caches by namespace entry whether the namespace is being deleted, because nearly every create asks about one that was
 * checked before.
 */
const terminating = new WeakMap<StoredEntry, boolean>()

function isTerminating(entry: StoredEntry): boolean {
  const known = terminating.get(entry) ?? textAt(JSON.parse(entry.value) as Json, 'status', 'phase') === 'Terminating'
  terminating.set(entry, known)
  return known
}
