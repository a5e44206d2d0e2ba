import { type Amount, type Amounts, addAmounts, formatAmount } from '../../model/amount.ts'
import type { JsonObject } from '../../model/api-object.ts'
import { readAmounts } from '../../model/pod-amounts.ts'
import { type CountedKind, findUnstated, isInScope, isUsedBy, usageOf } from '../../model/quota.ts'
import { type ApiDocument, objectAt } from '../document.ts'
import { collectionPrefix } from '../resources/keys.ts'
import { renderDocument } from '../resources/stored-text.ts'
import { forbidden } from '../status.ts'
import type { Store, StoredEntry, StoreWrite } from '../store/index.ts'
import type { Change } from './change.ts'

const quotas = { plural: 'resourcequotas' }
const noWrites: readonly StoreWrite[] = []

/** The kinds that no quota counts. */
const uncounted = new Set(['events'])

/** Returns the ResourceQuotas of a namespace; nearly every namespace has none. */
export async function findQuotas(
  store: Store,
  { resource, namespace }: Change['target'],
): Promise<readonly StoredEntry[]> {
  if (namespace === undefined || uncounted.has(resource.plural)) return []
  return (await store.range(collectionPrefix(quotas, namespace))).entries
}

/**
 * Implements the admission plugin ResourceQuota: returns the writes that charge a change to the quotas of its namespace,
 * for the commit of the change, so that no two changes use the same rest. What a change frees is given back in its
 * commit too. Throws a 403 for a change that a quota does not allow.
 */
export function chargeQuotas(entries: readonly StoredEntry[], change: Change, now: Date): readonly StoreWrite[] {
  if (entries.length === 0) return noWrites
  return entries.flatMap((entry) => {
    const quota = JSON.parse(entry.value) as ApiDocument
    const isItself = change.target.resource.plural === quotas.plural && quota.metadata.name === change.name
    const used = isItself ? undefined : chargeQuota(quota, change, now)
    if (used === undefined) return []
    const charged = { ...quota, status: { ...objectAt(quota['status']), used } }
    return [{ kind: 'put', key: entry.key, value: renderDocument(charged), expectedRevision: entry.revision } as const]
  })
}

/** Returns the new usage of one quota; undefined where the change does not concern it. */
function chargeQuota(quota: ApiDocument, change: Change, now: Date): JsonObject | undefined {
  const kind: CountedKind = change.target.resource
  const [hard, used] = ['hard', 'used'].map((list) => readAmounts(objectAt(quota['status'], list)))
  const names = [...(hard?.keys() ?? [])].filter((name) => isUsedBy(kind, name))
  if (hard === undefined || used === undefined || names.length === 0) return undefined
  const usage = (document: ApiDocument | undefined): Amounts =>
    document !== undefined && isInScope(kind, document, quota['spec']) ? usageOf(kind, document, now.getTime()) : none
  const next = usage(change.next)
  assertStated(quota, change, names, used, next)
  const delta = difference(next, usage(change.old), names)
  if (delta.size === 0) return undefined
  const sum = new Map([...delta].map(([name, amount]) => [name, addAmounts(used.get(name) ?? zero, amount)]))
  if (change.target.subresource !== 'status') assertWithin(quota, change, { hard, used, delta, sum })
  return { ...objectAt(quota['status'], 'used'), ...writeAmounts(sum) }
}

const none: Amounts = new Map()
const zero: Amount = { thousandths: 0n, isBinary: false }

function difference(next: Amounts, old: Amounts, names: readonly string[]): Amounts {
  const changed = names.flatMap((name): readonly [string, Amount][] => {
    const { thousandths, isBinary } = next.get(name) ?? old.get(name) ?? zero
    const more = (next.has(name) ? thousandths : 0n) - (old.get(name)?.thousandths ?? 0n)
    return more === 0n ? [] : [[name, { thousandths: more, isBinary }]]
  })
  return new Map(changed)
}

/** Checks that a new object states what the quota counts, and that the quota knows what is used. */
function assertStated(
  quota: ApiDocument,
  change: Change,
  names: readonly string[],
  used: Amounts,
  next: Amounts,
): void {
  if (change.old !== undefined || change.next === undefined || next.size === 0) return
  const { resource } = change.target
  const quotaName = quota.metadata.name ?? ''
  const missing = resource.group === '' && resource.plural === 'pods' ? findUnstated(change.next, names) : undefined
  if (missing !== undefined)
    throw forbidden(resource, change.name, `failed quota: ${quotaName}: must specify ${missing}`)
  if (names.every((name) => used.has(name))) return
  const unknown = names.toSorted().join(',')
  throw forbidden(resource, change.name, `status unknown for quota: ${quotaName}, resources: ${unknown}`)
}

interface Charge {
  readonly hard: Amounts
  readonly used: Amounts
  readonly delta: Amounts
  readonly sum: Amounts
}

function assertWithin(quota: ApiDocument, change: Change, { hard, used, delta, sum }: Charge): void {
  const exceeded = [...sum]
    .filter(([name, { thousandths }]) => {
      const isMore = (delta.get(name)?.thousandths ?? 0n) > 0n
      return isMore && thousandths > (hard.get(name)?.thousandths ?? 0n)
    })
    .map(([name]) => name)
    .toSorted()
  if (exceeded.length === 0) return
  const show = (amounts: Amounts) =>
    exceeded.map((name) => `${name}=${formatAmount(amounts.get(name) ?? zero)}`).join(',')
  const why = `exceeded quota: ${quota.metadata.name ?? ''}, requested: ${show(delta)}, used: ${show(used)}, limited: ${show(hard)}`
  throw forbidden(change.target.resource, change.name, why)
}

/** Returns the texts of amounts. Nothing is used less than not at all: a quota may be newer than what it counts. */
function writeAmounts(amounts: Amounts): JsonObject {
  const texts = [...amounts].map(([name, amount]): [string, string] => [
    name,
    formatAmount(amount.thousandths < 0n ? zero : amount),
  ])
  return Object.fromEntries(texts)
}

/** The last work on each namespace with quotas, by store: changes that are charged to one quota wait for each other. */
const turns = new WeakMap<Store, Map<string, Promise<unknown>>>()

/** Does the work when all earlier work on the namespace is done. */
export async function inTurn<T>(store: Store, namespace: string, work: () => Promise<T>): Promise<T> {
  const ofStore = turns.get(store) ?? new Map<string, Promise<unknown>>()
  turns.set(store, ofStore)
  const turn = (ofStore.get(namespace) ?? Promise.resolve()).then(work, work)
  const settled = turn.catch(() => undefined)
  ofStore.set(namespace, settled)
  try {
    return await turn
  } finally {
    if (ofStore.get(namespace) === settled) ofStore.delete(namespace)
  }
}
