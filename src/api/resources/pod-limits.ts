import { type Amount, type Amounts, formatAmount } from '../../model/amount.ts'
import type { Json, JsonObject } from '../../model/api-object.ts'
import { amountsOf, podAmounts, readAmounts } from '../../model/pod-amounts.ts'
import { type ApiDocument, isJsonObject, listAt, objectAt, textAt, withMetadata } from '../document.ts'
import type { Store, StoredEntry } from '../store/index.ts'
import { collectionPrefix } from './keys.ts'

/** The items of the LimitRanges of a namespace, in the order of their names. */
export type LimitItems = readonly JsonObject[]

const none: LimitItems = []
const known = new WeakMap<StoredEntry, LimitItems>()

/** Returns the items of all LimitRanges of a namespace; nearly every namespace has none. */
export async function findLimits(store: Store, namespace: string): Promise<LimitItems> {
  const { entries } = await store.range(collectionPrefix({ plural: 'limitranges' }, namespace))
  return entries.length === 0 ? none : entries.flatMap(readItems)
}

function readItems(entry: StoredEntry): LimitItems {
  const found =
    known.get(entry) ?? listAt((JSON.parse(entry.value) as ApiDocument)['spec'], 'limits').filter(isJsonObject)
  known.set(entry, found)
  return found
}

/** Implements the defaults of the admission plugin LimitRanger: requests and limits of containers that state none. */
export function withDefaultLimits(pod: ApiDocument, items: LimitItems, annotation: string): ApiDocument {
  const defaults = items.filter((item) => item['type'] === 'Container')
  if (defaults.length === 0) return pod
  const requests = Object.assign({}, ...defaults.toReversed().map((item) => objectAt(item, 'defaultRequest')))
  const limits = Object.assign({}, ...defaults.toReversed().map((item) => objectAt(item, 'default')))
  const notes: string[] = []
  const complete = (container: Json, what: string) => completeContainer(container, { requests, limits }, what, notes)
  const spec = objectAt(pod['spec'])
  const containers = listAt(spec, 'containers').map((each) => complete(each, 'container'))
  const initContainers = listAt(spec, 'initContainers').map((each) => complete(each, 'init container'))
  if (notes.length === 0) return pod
  const annotations = { ...pod.metadata.annotations, [annotation]: `LimitRanger plugin set: ${notes.join('; ')}` }
  const changed = { ...spec, containers, ...(initContainers.length === 0 ? {} : { initContainers }) }
  return { ...withMetadata(pod, { annotations }), spec: changed }
}

interface Defaults {
  readonly requests: JsonObject
  readonly limits: JsonObject
}

function completeContainer(container: Json, defaults: Defaults, what: string, notes: string[]): Json {
  if (!isJsonObject(container)) return container
  const resources = objectAt(container, 'resources')
  const completed = Object.fromEntries(
    (['requests', 'limits'] as const).flatMap((side) => {
      const given = objectAt(resources, side)
      const added = Object.keys(defaults[side]).filter((name) => given[name] === undefined)
      if (added.length > 0)
        notes.push(`${added.toSorted().join(', ')} ${side.slice(0, -1)} for ${what} ${textAt(container, 'name')}`)
      const all = { ...defaults[side], ...given }
      return Object.keys(all).length === 0 ? [] : [[side, all]]
    }),
  )
  return { ...container, resources: { ...resources, ...completed } }
}

/** Returns the reasons against a Pod: amounts outside the bounds of its namespace. */
export function findLimitFaults(pod: ApiDocument, items: LimitItems): readonly string[] {
  const spec = pod['spec']
  const containers = [...listAt(spec, 'containers'), ...listAt(spec, 'initContainers')]
  return items.flatMap((item) => {
    const type = textAt(item, 'type')
    if (type === 'Container')
      return containers.flatMap((each) => faultsOf(item, type, amountsOf(each, 'requests'), amountsOf(each, 'limits')))
    return type === 'Pod' ? faultsOf(item, type, podAmounts(spec, 'requests'), podAmounts(spec, 'limits')) : []
  })
}

/** Returns the reasons against a claim: a size outside the bounds of its namespace. */
export function findClaimFaults({ spec }: ApiDocument, items: LimitItems): readonly string[] {
  const [type, requests] = ['PersistentVolumeClaim', amountsOf(spec, 'requests')]
  const bounds = items.filter((item) => item['type'] === type)
  return bounds.flatMap((item) => [
    ...faultsIn(item, 'min', type, (least, name) => faultBelow(least, requests.get(name))),
    ...faultsIn(item, 'max', type, (most, name) => faultOfSize(most, requests.get(name))),
  ])
}

function faultsOf(item: JsonObject, type: string, requests: Amounts, limits: Amounts): readonly string[] {
  const check = (list: string, fault: (bound: Amount, request?: Amount, limit?: Amount) => string | undefined) =>
    faultsIn(item, list, type, (bound, name) => fault(bound, requests.get(name), limits.get(name)))
  return [...check('min', faultBelow), ...check('max', faultAbove), ...check('maxLimitRequestRatio', faultOfRatio)]
}

function faultsIn(
  item: JsonObject,
  list: string,
  type: string,
  fault: (bound: Amount, name: string) => string | undefined,
): readonly string[] {
  return [...readAmounts(item[list])].flatMap(([name, bound]) => {
    const why = fault(bound, name)
    return why === undefined ? [] : [why.replace('NAME', name).replace('TYPE', type)]
  })
}

function faultOfSize(most: Amount, request?: Amount): string | undefined {
  const rule = `maximum NAME usage per TYPE is ${formatAmount(most)}`
  if (request === undefined) return `${rule}.  No request is specified`
  return request.thousandths > most.thousandths ? `${rule}, but request is ${formatAmount(request)}` : undefined
}

function faultBelow(least: Amount, request?: Amount, limit?: Amount): string | undefined {
  const rule = `minimum NAME usage per TYPE is ${formatAmount(least)}`
  if (request === undefined) return `${rule}.  No request is specified`
  if (request.thousandths < least.thousandths) return `${rule}, but request is ${formatAmount(request)}`
  if (limit === undefined || limit.thousandths >= least.thousandths) return undefined
  return `${rule}, but limit is ${formatAmount(limit)}`
}

function faultAbove(most: Amount, request?: Amount, limit?: Amount): string | undefined {
  const rule = `maximum NAME usage per TYPE is ${formatAmount(most)}`
  if (limit === undefined) return `${rule}.  No limit is specified`
  if (limit.thousandths > most.thousandths) return `${rule}, but limit is ${formatAmount(limit)}`
  if (request === undefined || request.thousandths <= most.thousandths) return undefined
  return `${rule}, but request is ${formatAmount(request)}`
}

function faultOfRatio(most: Amount, request?: Amount, limit?: Amount): string | undefined {
  const rule = `NAME max limit to request ratio per TYPE is ${formatAmount(most)}`
  if (request === undefined || request.thousandths === 0n) return `${rule}, but no request is specified or request is 0`
  if (limit === undefined || limit.thousandths === 0n) return `${rule}, but no limit is specified or limit is 0`
  const ratio = Number(limit.thousandths) / Number(request.thousandths)
  return ratio * 1000 > Number(most.thousandths) ? `${rule}, but provided ratio is ${ratio.toFixed(6)}` : undefined
}
