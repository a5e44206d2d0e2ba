import { isDeepStrictEqual } from 'node:util'
import { TimeSlice } from '../../loop/time-slice.ts'
import { describeError } from '../../model/errors.ts'
import { formatTraceparent } from '../../observe/index.ts'
import type { ApiDocument } from '../document.ts'
import type { CommitOptions } from '../request/request.ts'
import { storeKey } from '../resources/keys.ts'
import type { CoWrites } from '../resources/resource.ts'
import { parseStored } from '../resources/stored-text.ts'
import { internalError, invalid } from '../status.ts'
import type { StoreWrite } from '../store/index.ts'
import type { CommitResult } from '../store/store-entries.ts'
import type { Change, ChangeResult } from './change.ts'
import { chargeQuotas, findQuotas, inTurn } from './charge-quotas.ts'
import { assertRoom, fitStored, type StoredForm } from './stored-size.ts'
import type { VerbContext } from './verb-context.ts'

const attempts = 16

/**
 * Writes a change with its co-writes and its charge to quotas in one commit. After a conflict in a co-write (an address
 * that was just allocated) it plans again; a conflict in the object itself is left to the caller.
 */
export async function commitChange(
  context: VerbContext,
  change: Change,
  options: CommitOptions,
): Promise<ChangeResult> {
  await context.admit?.(change)
  await change.target.resource.strategy.guard?.(change)
  const { namespace = '' } = change.target
  const isCharged = (await findQuotas(context.store, change.target)).length > 0
  const commit = () => commitPlanned(context, change, { ...options, isCharged })
  return isCharged ? inTurn(context.store, namespace, commit) : commit()
}

async function commitPlanned(
  context: VerbContext,
  change: Change,
  options: CommitOptions & { readonly isCharged: boolean },
): Promise<ChangeResult> {
  const key = storeKey(change.target.resource, change.target.namespace, change.name)
  for (let attempt = 0; attempt < attempts; attempt++) {
    const { next: wanted = change.next, writes } = await planCoWrites(change)
    const slice = new TimeSlice()
    const isSame = writes.length === 0 && wanted !== undefined && isDeepStrictEqual(wanted, change.old)
    if (isSame) return { kind: 'done', next: wanted, revision: change.revision }
    await slice.whenSpent()
    const stored = wanted && sizedForm(context, change, wanted)
    const next = stored?.document
    const charges = await planCharges(context, { ...change, next }, options.isCharged)
    if (options.dryRun) return { kind: 'done', next, revision: change.revision }
    const result = await commitTraced(context, [ownWrite(change, key, stored), ...writes, ...charges])
    if (result.kind === 'conflict' && result.key === key) return { kind: 'outdated' }
    if (result.kind === 'conflict') continue
    if (next === undefined) await sweepNamespace(context, change.target.namespace)
    return { kind: 'done', next, revision: result.revision, ...(stored && { storedText: stored.text }) }
  }
  throw internalError('the write met other writers too often; please try again')
}

async function planCharges({ store, now }: VerbContext, change: Change, isCharged: boolean) {
  if (!isCharged) return []
  return chargeQuotas(await findQuotas(store, change.target), change, now())
}

/** Commits; the watchers of a traced commit learn its place in the trace. */
async function commitTraced(
  { store, span: parent }: VerbContext,
  writes: readonly StoreWrite[],
): Promise<CommitResult> {
  if (parent?.isRecorded !== true) return store.commit(writes)
  const span = parent.child('store commit', { kind: 'producer', attributes: { 'platnet.writes': writes.length } })
  try {
    const result = await store.commit(writes, span.context && formatTraceparent(span.context))
    if (result.kind === 'committed') span.set({ 'platnet.revision': String(result.revision) })
    else span.set({ 'platnet.conflict': true })
    span.end()
    return result
  } catch (error) {
    span.end({ error: describeError(error) })
    throw error
  }
}

function sizedForm(
  { store, maxObjectBytes, maxStoreBytes }: VerbContext,
  change: Change,
  wanted: ApiDocument,
): StoredForm {
  const stored = fitStored(change.target.resource, wanted, change.old, maxObjectBytes)
  assertRoom(store, change, stored, maxStoreBytes)
  return stored
}

/** Deletes a terminating namespace with its last object, unless the namespace controller does that. */
async function sweepNamespace(context: VerbContext, namespace: string | undefined): Promise<void> {
  const resource = context.registry.find('', 'v1', 'namespaces')
  if (namespace === undefined || resource === undefined) return
  const entry = await context.store.get(storeKey(resource, undefined, namespace))
  const old = entry && parseStored(resource, entry)
  if (entry === undefined || old?.metadata.deletionTimestamp === undefined) return
  const isKept = (old.metadata.finalizers ?? []).length > 0 || resource.strategy.isHeld?.(old) === true
  const next = isKept ? old : undefined
  const target = { resource, namespace: undefined, name: namespace, subresource: undefined }
  await commitChange(context, { target, name: namespace, old, next, revision: entry.revision }, { dryRun: false })
}

async function planCoWrites(change: Change): Promise<CoWrites> {
  const { resource } = change.target
  const coWrites = (await resource.strategy.coWrites?.(change)) ?? { writes: [], errors: [] }
  if (coWrites.errors.length > 0) throw invalid(resource, change.name, coWrites.errors)
  return coWrites
}

function ownWrite({ revision: expectedRevision }: Change, key: string, stored: StoredForm | undefined): StoreWrite {
  if (stored === undefined) return { kind: 'delete', key, expectedRevision }
  return { kind: 'put', key, value: stored.text, expectedRevision }
}
