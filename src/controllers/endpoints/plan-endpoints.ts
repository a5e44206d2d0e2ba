import { isDeepStrictEqual } from 'node:util'
import type { Dialect } from '../../model/dialect.ts'
import type { Ip } from '../../model/ip.ts'
import type { EndpointSubset, Endpoints } from '../objects/endpoints.ts'
import { isReady, type Pod } from '../objects/pod.ts'
import type { Service } from '../objects/service.ts'
import {
  hostnameFor,
  isTerminating,
  lastTriggerTime,
  mayServe,
  podIp,
  portResolver,
  serviceFamilies,
  targetRefOf,
} from './pod-endpoints.ts'
import { areSame, isSameTarget, portsKey, type WantedPort } from './wanted-slices.ts'

/** The value of the label `endpointsManagedBy`. */
const manager = 'endpoint-controller'

/** The most addresses in one Endpoints object; the rest is cut off and an annotation says so. */
const maxAddresses = 1000

type Address = EndpointSubset['addresses'][number]

interface Candidate {
  readonly address: Address
  readonly ready: boolean
  readonly ports: readonly WantedPort[]
  /** The sort key that gives candidates a fixed order. */
  readonly key: string
}

/** Checks whether a controller manages these Endpoints; users wrote all others by hand. */
export function isKept({ metadata }: Endpoints, dialect: Dialect): boolean {
  return metadata.labels[dialect.labels.endpointsManagedBy] === manager
}

interface EndpointsContent {
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly subsets: readonly EndpointSubset[]
}

export type EndpointsPlan =
  | { readonly kind: 'none' }
  | { readonly kind: 'create'; readonly content: EndpointsContent }
  | { readonly kind: 'update'; readonly existing: Endpoints; readonly content: EndpointsContent }

/** Plans the Endpoints object of a Service: one address per pod, of the Service's first family; ready ones first if there are too many. */
export function planEndpoints(
  service: Service,
  pods: readonly Pod[],
  existing: Endpoints | undefined,
  dialect: Dialect,
): EndpointsPlan {
  const candidates = candidatesOf(service, pods)
  const isTruncated = candidates.length > maxAddresses
  const kept = candidates.toSorted(compareCandidates).slice(0, maxAddresses)
  const subsets = groupByPorts(kept)
  const labels = {
    ...service.metadata.labels,
    [dialect.labels.endpointsManagedBy]: manager,
    ...(service.spec.clusterIP === 'None' && { [dialect.labels.headlessService]: '' }),
  }
  const isCurrent =
    existing !== undefined &&
    areSame(existing.subsets, subsets, isSameSubset) &&
    isDeepStrictEqual(existing.metadata.labels ?? {}, labels) &&
    (existing.metadata.annotations?.[dialect.annotations.overCapacity] !== undefined) === isTruncated
  if (isCurrent) return { kind: 'none' }
  const content = { labels, annotations: annotationsOf(service, pods, existing, isTruncated, dialect), subsets }
  return existing === undefined ? { kind: 'create', content } : { kind: 'update', existing, content }
}

function annotationsOf(
  service: Service,
  pods: readonly Pod[],
  existing: Endpoints | undefined,
  isTruncated: boolean,
  { annotations: { overCapacity, lastChangeTriggerTime } }: Dialect,
): Readonly<Record<string, string>> {
  const { [overCapacity]: _, [lastChangeTriggerTime]: __, ...others } = existing?.metadata.annotations ?? {}
  const triggerTime = lastTriggerTime(service, pods)
  return {
    ...others,
    ...(triggerTime !== undefined && { [lastChangeTriggerTime]: triggerTime }),
    ...(isTruncated && { [overCapacity]: 'truncated' }),
  }
}

function candidatesOf(service: Service, pods: readonly Pod[]): readonly Candidate[] {
  const { publishNotReadyAddresses } = service.spec
  const [family = 'IPv4'] = serviceFamilies(service)
  const portsOf = portResolver(service)
  return pods.filter(mayServe).flatMap((pod): readonly Candidate[] => {
    const ip = podIp(pod, family)
    const ports = portsOf(pod)
    const servesNothing = ports.length === 0 && service.spec.ports.length > 0
    if (ip === undefined || servesNothing || (isTerminating(pod) && !publishNotReadyAddresses)) return []
    const ready = publishNotReadyAddresses || isReady(pod)
    return [{ address: addressOf(pod, ip, service), ready, ports, key: `${ip} ${pod.metadata.uid}` }]
  })
}

function addressOf(pod: Pod, ip: Ip, service: Service): Address {
  const hostname = hostnameFor(pod, service)
  const { nodeName } = pod.spec
  return {
    ip,
    ...(hostname !== undefined && { hostname }),
    ...(nodeName !== undefined && { nodeName }),
    targetRef: targetRefOf(pod),
  }
}

function compareCandidates(a: Candidate, b: Candidate): number {
  if (a.ready !== b.ready) return a.ready ? -1 : 1
  return compareTexts(a.key, b.key)
}

function groupByPorts(candidates: readonly Candidate[]): readonly EndpointSubset[] {
  const groups = [...Map.groupBy(candidates, ({ ports }) => portsKey(ports))]
  return groups
    .sort(([a], [b]) => compareTexts(a, b))
    .map(([, members]) => ({
      addresses: members.filter(({ ready }) => ready).map(({ address }) => address),
      notReadyAddresses: members.filter(({ ready }) => !ready).map(({ address }) => address),
      ports: [...(members[0]?.ports ?? [])],
    }))
}

function isSameSubset(one: EndpointSubset, other: EndpointSubset): boolean {
  return (
    areSame(one.addresses, other.addresses, isSameAddress) &&
    areSame(one.notReadyAddresses, other.notReadyAddresses, isSameAddress) &&
    portsKey(one.ports) === portsKey(other.ports)
  )
}

function isSameAddress(one: Address, other: Address): boolean {
  return (
    one.ip === other.ip &&
    one.hostname === other.hostname &&
    one.nodeName === other.nodeName &&
    isSameTarget(one.targetRef, other.targetRef)
  )
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
