import type { IpFamily } from '../../model/ip.ts'
import type { EndpointSlice } from '../objects/endpoints.ts'
import type { OwnerReference } from '../runtime/metadata.ts'
import {
  areSame,
  type EndpointGroup,
  type EndpointHints,
  isSameTarget,
  portsKey,
  sortEndpoints,
  type WantedEndpoint,
  type WantedPort,
} from './wanted-slices.ts'

/** The fields that every slice of one owner carries. */
export interface SliceTemplate {
  readonly namespace: string
  readonly generateName: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly owner: OwnerReference
  /** Annotations that are set when a slice is written but are no reason to write it. */
  readonly passingAnnotations: Readonly<Record<string, string>>
}

export interface SlicePlanInput {
  readonly groups: readonly EndpointGroup[]
  /** The families that have a slice even without an endpoint. */
  readonly placeholderFamilies: readonly IpFamily[]
  /** All slices of the owner that this controller manages. */
  readonly slices: readonly EndpointSlice[]
  readonly template: SliceTemplate
  /** Returns the identity of an endpoint; an endpoint with an equal key stays in its slice. */
  readonly keyOf: (endpoint: IdentifiedEndpoint) => string
  readonly maxEndpoints: number
}

export interface SliceContent {
  readonly family: IpFamily
  readonly ports: readonly WantedPort[]
  readonly endpoints: readonly WantedEndpoint[]
}

export interface SlicePlan {
  readonly creates: readonly SliceContent[]
  readonly updates: readonly { readonly slice: EndpointSlice; readonly content: SliceContent }[]
  readonly deletes: readonly EndpointSlice[]
}

/**
 * Returns the fewest writes from the present slices to the wanted endpoints: endpoints stay where they are, new ones go into slices that change
 * anyway (the fullest first), then into the fullest other slice with room for all of them, then into new ones. Sparse slices are left alone.
 */
export function planSlices(input: SlicePlanInput): SlicePlan {
  const [own, foreign] = partition(input.slices, (slice) => isOwnedBy(slice, input.template.owner))
  const families = new Set([...input.placeholderFamilies, ...input.groups.map(({ family }) => family)])
  const [wanted, unwanted] = partition(own, ({ addressType }) => families.has(addressType as IpFamily))
  const plans = Array.from(families, (family) =>
    planFamily(
      input,
      family,
      wanted.filter(({ addressType }) => addressType === family),
    ),
  )
  return {
    creates: plans.flatMap(({ creates }) => creates),
    updates: plans.flatMap(({ updates }) => updates),
    deletes: [...foreign, ...unwanted, ...plans.flatMap(({ deletes }) => deletes)],
  }
}

interface MutablePlan {
  creates: SliceContent[]
  updates: { slice: EndpointSlice; content: SliceContent }[]
  deletes: EndpointSlice[]
  /** The number of slices that stay as they are. */
  kept: number
}

function planFamily(input: SlicePlanInput, family: IpFamily, slices: readonly EndpointSlice[]): SlicePlan {
  const plan: MutablePlan = { creates: [], updates: [], deletes: [], kept: 0 }
  const byPorts = Map.groupBy(slices, ({ ports }) => portsKey(ports))
  for (const group of input.groups.filter((each) => each.family === family && each.endpoints.length > 0)) {
    const key = portsKey(group.ports)
    packGroup(input, group, byPorts.get(key) ?? [], plan)
    byPorts.delete(key)
  }
  plan.deletes.push(...[...byPorts.values()].flat())
  if (plan.creates.length + plan.updates.length + plan.kept === 0 && input.placeholderFamilies.includes(family)) {
    plan.creates.push({ family, ports: [], endpoints: [] })
  }
  reuseDeleted(plan, input.template)
  return plan
}

/** Turns a deletion and a creation into one update: one write instead of two, and the slice keeps its name. */
function reuseDeleted(plan: MutablePlan, template: SliceTemplate): void {
  while (plan.creates.length > 0 && plan.deletes.length > 0) {
    const [content] = plan.creates.splice(0, 1)
    const [slice] = plan.deletes.splice(0, 1)
    if (content && slice && needsWrite(slice, content, template)) plan.updates.push({ slice, content })
  }
}

interface Draft {
  readonly slice: EndpointSlice
  readonly endpoints: WantedEndpoint[]
}

function packGroup(
  input: SlicePlanInput,
  group: EndpointGroup,
  slices: readonly EndpointSlice[],
  plan: MutablePlan,
): void {
  const missing = new Map(group.endpoints.map((endpoint) => [input.keyOf(endpoint), endpoint]))
  const drafts = slices.map((slice) => ({ slice, endpoints: takeKept(input, slice, missing) }))
  const content = ({ endpoints }: Draft): SliceContent => ({ family: group.family, ports: group.ports, endpoints })
  const [full, empty] = partition(drafts, ({ endpoints }) => endpoints.length > 0)
  const [changed, same] = partition(full, (draft) => needsWrite(draft.slice, content(draft), input.template))
  const rest = sortEndpoints(missing.values())
  for (const draft of byFullest(changed))
    draft.endpoints.push(...rest.splice(0, input.maxEndpoints - draft.endpoints.length))
  while (rest.length >= input.maxEndpoints) {
    plan.creates.push({ ...group, endpoints: rest.splice(0, input.maxEndpoints) })
  }
  const host =
    rest.length === 0
      ? undefined
      : byFullest(same).find(({ endpoints }) => endpoints.length + rest.length <= input.maxEndpoints)
  if (host) host.endpoints.push(...rest)
  else if (rest.length > 0) plan.creates.push({ ...group, endpoints: rest })
  const written = host ? [...changed, host] : changed
  plan.updates.push(...written.map((draft) => ({ slice: draft.slice, content: content(draft) })))
  plan.kept += same.length - (host ? 1 : 0)
  plan.deletes.push(...empty.map(({ slice }) => slice))
}

/** Removes from `missing` what this slice has, and returns those endpoints as they should be now. */
function takeKept(
  { keyOf, maxEndpoints }: SlicePlanInput,
  slice: EndpointSlice,
  missing: Map<string, WantedEndpoint>,
): WantedEndpoint[] {
  const kept: WantedEndpoint[] = []
  for (const endpoint of slice.endpoints) {
    const key = keyOf(endpoint)
    const wanted = missing.get(key)
    if (wanted === undefined || kept.length === maxEndpoints) continue
    kept.push(wanted)
    missing.delete(key)
  }
  return kept
}

function byFullest(drafts: readonly Draft[]): readonly Draft[] {
  return drafts.toSorted((a, b) => b.endpoints.length - a.endpoints.length)
}

export type IdentifiedEndpoint = Pick<WantedEndpoint, 'addresses' | 'targetRef'>

/** Returns the pod's identity: a pod stays the same endpoint when its address changes. */
export function keyByPod({ addresses, targetRef }: IdentifiedEndpoint): string {
  return targetRef?.uid || addresses.join()
}

/** Returns the address and the target: users may write the same target for several addresses. */
export function keyByAddress({ addresses, targetRef }: IdentifiedEndpoint): string {
  return `${targetRef?.uid ?? ''} ${addresses.join()}`
}

function needsWrite(slice: EndpointSlice, content: SliceContent, template: SliceTemplate): boolean {
  return (
    portsKey(slice.ports) !== portsKey(content.ports) ||
    slice.ports.some(({ name }) => typeof name !== 'string') ||
    !areSame<ComparedEndpoint>(slice.endpoints, content.endpoints, isSameEndpoint) ||
    !isSameMetadata(slice, template)
  )
}

type ComparedEndpoint = WantedEndpoint | EndpointSlice['endpoints'][number]

/** Compares two endpoints field by field: cheap, as a pass compares all endpoints of a Service. */
function isSameEndpoint(one: ComparedEndpoint, other: ComparedEndpoint): boolean {
  return (
    one.conditions.ready === other.conditions.ready &&
    one.conditions.serving === other.conditions.serving &&
    one.conditions.terminating === other.conditions.terminating &&
    one.hostname === other.hostname &&
    one.nodeName === other.nodeName &&
    one.zone === other.zone &&
    isSameTarget(one.targetRef, other.targetRef) &&
    areSame(one.addresses, other.addresses, (address, wanted) => address === wanted) &&
    hintsText(one.hints) === hintsText(other.hints)
  )
}

function hintsText(hints: EndpointHints | null | undefined): string {
  const names = (list: EndpointHints['forZones'] = []) => list.map(({ name }) => name).join()
  return hints ? `${names(hints.forZones)}/${names(hints.forNodes)}` : '/'
}

function isSameMetadata({ metadata }: EndpointSlice, template: SliceTemplate): boolean {
  const { labels = {}, annotations = {} } = metadata
  const wanted = Object.entries(template.labels)
  return (
    wanted.length === Object.keys(labels).length &&
    wanted.every(([key, value]) => labels[key] === value) &&
    Object.entries(template.annotations).every(([key, value]) => annotations[key] === value)
  )
}

function isOwnedBy({ metadata }: EndpointSlice, owner: OwnerReference): boolean {
  return (metadata.ownerReferences ?? []).some(({ uid }) => uid === owner.uid)
}

function partition<T>(items: readonly T[], test: (item: T) => boolean): [T[], T[]] {
  const yes: T[] = []
  const no: T[] = []
  for (const item of items) (test(item) ? yes : no).push(item)
  return [yes, no]
}
