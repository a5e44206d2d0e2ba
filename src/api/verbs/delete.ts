import { isDeepStrictEqual } from 'node:util'
import type { ApiDocument } from '../document.ts'
import type { Answer, DeleteOptions, ItemTarget, Target } from '../request/request.ts'
import { storeKey } from '../resources/keys.ts'
import type { Resource } from '../resources/resource.ts'
import { parseStored, withRevision } from '../resources/stored-text.ts'
import { conflict, internalError, notFound } from '../status.ts'
import type { StoredEntry } from '../store/index.ts'
import { type AdmissionMoment, admitAsGiven, deleteOptionsOf, isAdmitted } from './admit-request.ts'
import { deletedAnswer, objectAnswer } from './answers.ts'
import { commitChange } from './commit-change.ts'
import { planDeletion } from './plan-deletion.ts'
import type { VerbContext } from './verb-context.ts'

const attempts = 32

/**
 * Deletes an object. Returns a Status (for some kinds the object) when it is gone, or the object with its
 * deletionTimestamp while grace or finalizers keep it. `asked` is the target of the request, if it is another: that of
 * a collection.
 */
export async function deleteObject(
  context: VerbContext,
  target: ItemTarget,
  options: DeleteOptions,
  asked: Target = target,
): Promise<Answer> {
  const { resource, namespace, name } = target
  for (let attempt = 0; attempt < attempts; attempt++) {
    const entry = await context.store.get(storeKey(resource, namespace, name))
    if (entry === undefined) throw notFound(resource, name)
    const old = parseStored(resource, entry)
    assertPreconditions(target, options, old, entry)
    if (isAdmitted(context)) await admitAsGiven(context, momentOf(asked, withRevision(old, entry.revision), options))
    const wanted = planDeletion(resource, old, options, context.now())
    if (wanted !== undefined && isDeepStrictEqual(wanted, old))
      return objectAnswer(resource, { document: old, revision: entry.revision })
    const result = await commitChange(context, { target, name, old, next: wanted, revision: entry.revision }, options)
    if (result.kind === 'outdated') continue
    if (result.next === undefined) return goneAnswer(context, resource, { document: old, revision: entry.revision })
    return objectAnswer(resource, { ...result, document: result.next }, options.answersAccepted === true ? 202 : 200)
  }
  throw internalError('the object is being changed by too many writers; please try again')
}

function momentOf(target: Target, oldObject: ApiDocument, options: DeleteOptions): AdmissionMoment {
  const deleted = deleteOptionsOf(options)
  return { operation: 'DELETE', target, object: undefined, oldObject, options: deleted, isDryRun: options.dryRun }
}

function goneAnswer(
  context: VerbContext,
  resource: Resource,
  { document, revision }: { readonly document: ApiDocument; readonly revision: number },
): Answer {
  const shown = resource.strategy.showDeleted?.(document, context.now())
  return shown === undefined ? deletedAnswer(resource, document) : objectAnswer(resource, { document: shown, revision })
}

function assertPreconditions(target: ItemTarget, options: DeleteOptions, old: ApiDocument, entry: StoredEntry): void {
  const { uid, resourceVersion } = options.preconditions
  assertPrecondition(target, 'UID', uid, old.metadata.uid)
  assertPrecondition(target, 'ResourceVersion', resourceVersion, String(entry.revision))
}

function assertPrecondition(
  { resource, name }: ItemTarget,
  what: string,
  wanted: string | undefined,
  found: string | undefined,
): void {
  if (wanted === undefined || wanted === found) return
  throw conflict(
    resource,
    name,
    `Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${found}`,
  )
}
