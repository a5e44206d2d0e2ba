import { type ApiDocument, formatTime, withMetadata } from '../document.ts'
import { parseStored } from '../encode/stored-text.ts'
import { storeKey } from '../resources/keys.ts'
import { conflict, internalError, notFound } from '../status.ts'
import type { StoredEntry } from '../store/index.ts'
import { deletedAnswer, objectAnswer } from './answers.ts'
import { commitChange } from './commit-change.ts'
import type { Answer, CommitOptions, ItemTarget, VerbContext } from './verb-context.ts'

export interface DeleteOptions extends CommitOptions {
  readonly preconditions: { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined }
}

const attempts = 32

/** A Status when the object is gone; the object with its deletionTimestamp while finalizers keep it. */
export async function deleteObject(context: VerbContext, target: ItemTarget, options: DeleteOptions): Promise<Answer> {
  const { resource, namespace, name } = target
  for (let attempt = 0; attempt < attempts; attempt++) {
    const entry = await context.store.get(storeKey(resource, namespace, name))
    if (entry === undefined) throw notFound(resource, name)
    const old = parseStored(resource, entry)
    assertPreconditions(target, options, old, entry)
    const isKept = (old.metadata.finalizers ?? []).length > 0
    if (isKept && old.metadata.deletionTimestamp !== undefined) return objectAnswer(resource, old, entry.revision)
    const next = isKept ? markDeleted(context, old) : undefined
    const result = await commitChange(context, { target, name, old, next, revision: entry.revision }, options)
    if (result.kind === 'outdated') continue
    return next === undefined ? deletedAnswer(resource, old) : objectAnswer(resource, next, result.revision)
  }
  throw internalError('the object is being changed by too many writers; please try again')
}

function markDeleted(context: VerbContext, old: ApiDocument): ApiDocument {
  const { generation } = old.metadata
  return withMetadata(old, {
    deletionTimestamp: formatTime(context.now()),
    deletionGracePeriodSeconds: 0,
    ...(generation === undefined ? {} : { generation: generation + 1 }),
  })
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
