import { isDeepStrictEqual } from 'node:util'
import type { Dialect } from '../../model/dialect.ts'
import type { EndpointSubset, Endpoints } from '../objects/endpoints.ts'
import type { Pod } from '../objects/pod.ts'
import type { Service } from '../objects/service.ts'
import {
  hostnameFor,
  isReady,
  isTerminating,
  lastTriggerTime,
  mayServe,
  podIp,
  resolvePorts,
  serviceFamilies,
  targetRefOf,
} from './pod-endpoints.ts'
import { portsKey, type WantedPort } from './wanted-slices.ts'

/** One object holds no more; what follows is cut off and an annotation says so. */
const maxAddresses = 1000

type Address = EndpointSubset['addresses'][number]

interface Candidate {
  readonly address: Address
  readonly ready: boolean
  readonly ports: readonly WantedPort[]
}

export interface EndpointsContent {
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly subsets: readonly EndpointSubset[]
}

export type EndpointsPlan =
  | { readonly kind: 'none' }
  | { readonly kind: 'create'; readonly content: EndpointsContent }
  | { readonly kind: 'update'; readonly existing: Endpoints; readonly content: EndpointsContent }

/** The Endpoints object of a Service: an address a pod, of the Service's first family; ready ones before the others where there are too many. */
export function planEndpoints(
  service: Service,
  pods: readonly Pod[],
  existing: Endpoints | undefined,
  dialect: Dialect,
): EndpointsPlan {
  const candidates = pods.filter(mayServe).flatMap((pod) => candidateOf(service, pod))
  const isTruncated = candidates.length > maxAddresses
  const kept = candidates.toSorted(compareCandidates).slice(0, maxAddresses)
  const subsets = groupByPorts(kept)
  const labels = {
    ...service.metadata.labels,
    ...(service.spec.clusterIP === 'None' && { [dialect.labels.headlessService]: '' }),
  }
  const isCurrent =
    existing !== undefined &&
    isDeepStrictEqual(existing.subsets.map(normalize), subsets.map(normalize)) &&
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

function candidateOf(service: Service, pod: Pod): readonly Candidate[] {
  const { publishNotReadyAddresses } = service.spec
  const [family = 'IPv4'] = serviceFamilies(service)
  const ip = podIp(pod, family)
  const ports = resolvePorts(service, pod)
  const servesNothing = ports.length === 0 && service.spec.ports.length > 0
  if (ip === undefined || servesNothing || (isTerminating(pod) && !publishNotReadyAddresses)) return []
  const hostname = hostnameFor(pod, service)
  const { nodeName } = pod.spec
  const address = {
    ip,
    ...(hostname !== undefined && { hostname }),
    ...(nodeName !== undefined && { nodeName }),
    targetRef: targetRefOf(pod),
  }
  return [{ address, ready: publishNotReadyAddresses || isReady(pod), ports }]
}

function compareCandidates(a: Candidate, b: Candidate): number {
  if (a.ready !== b.ready) return a.ready ? -1 : 1
  return compareTexts(`${a.address.ip} ${a.address.targetRef?.uid}`, `${b.address.ip} ${b.address.targetRef?.uid}`)
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

/** Fields in a fixed order, absent ones alike. */
function normalize({ addresses, notReadyAddresses, ports }: EndpointSubset) {
  const addressText = ({ ip, hostname, nodeName, targetRef }: Address) =>
    [ip, hostname, nodeName, targetRef?.kind, targetRef?.namespace, targetRef?.name, targetRef?.uid].join('|')
  return [addresses.map(addressText), notReadyAddresses.map(addressText), portsKey(ports)]
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
