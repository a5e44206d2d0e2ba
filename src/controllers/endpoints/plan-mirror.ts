import type { Dialect } from '../../model/dialect.ts'
import { type IpFamily, ipFamily } from '../../model/ip.ts'
import { parseWorkloadIp } from '../../model/special-addresses.ts'
import { controllerReference } from '../objects/claim.ts'
import type { EndpointSlice, EndpointSubset, Endpoints } from '../objects/endpoints.ts'
import type { Service } from '../objects/service.ts'
import { maxEndpointsPerSlice } from './plan-service-slices.ts'
import { keyByAddress, planSlices, type SlicePlan, type SliceTemplate } from './plan-slices.ts'
import { hasSelector } from './service-pods.ts'
import { type EndpointGroup, groupEndpoints } from './wanted-slices.ts'

/** The most addresses of one subset that are mirrored. */
const maxAddressesPerSubset = 1000

/** The annotation that `kubectl apply` keeps for itself; a copy would describe another object. */
const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration'

const families: readonly IpFamily[] = ['IPv4', 'IPv6']

export interface MirrorPlan {
  readonly plan: SlicePlan
  readonly template: SliceTemplate
  /** The addresses that are invalid or not allowed in a slice, and the number of those beyond the limit, for Events. */
  readonly invalidAddresses: readonly string[]
  readonly skippedAddresses: number
}

/** Checks whether these Endpoints are mirrored: a user wrote them by hand, for a Service that selects no pods. */
export function isMirrored(endpoints: Endpoints, service: Service | undefined, dialect: Dialect): boolean {
  const { labels = {}, annotations = {} } = endpoints.metadata
  const isRefused = labels[dialect.labels.skipMirror] === 'true' || dialect.annotations.electionRecord in annotations
  return service !== undefined && !hasSelector(service) && service.spec.type !== 'ExternalName' && !isRefused
}

/** Returns the writes that bring the mirroring slices of hand-written Endpoints up to date. */
export function planMirror(endpoints: Endpoints, slices: readonly EndpointSlice[], dialect: Dialect): MirrorPlan {
  const template = mirrorTemplate(endpoints, dialect)
  const subsets = endpoints.subsets.map(mirrorSubset)
  const groups = groupEndpoints(subsets.flatMap((subset) => subset.groups))
  return {
    plan: planSlices({
      groups,
      placeholderFamilies: [],
      slices,
      template,
      keyOf: keyByAddress,
      maxEndpoints: maxEndpointsPerSlice,
    }),
    template,
    invalidAddresses: subsets.flatMap(({ invalid }) => invalid),
    skippedAddresses: subsets.reduce((sum, { skipped }) => sum + skipped, 0),
  }
}

function mirrorTemplate(endpoints: Endpoints, dialect: Dialect): SliceTemplate {
  const { name, namespace = '', labels, annotations = {} } = endpoints.metadata
  const unwanted = [dialect.annotations.lastChangeTriggerTime, lastAppliedAnnotation]
  const copied = Object.entries(annotations).filter(([key]) => !unwanted.includes(key))
  return {
    namespace,
    generateName: `${name}-`,
    labels: {
      ...labels,
      [dialect.labels.serviceName]: name,
      [dialect.labels.managedBy]: dialect.sliceManagers.mirroring,
    },
    annotations: Object.fromEntries(copied),
    owner: controllerReference({ apiVersion: 'v1', kind: 'Endpoints', ...endpoints }),
    passingAnnotations: {},
  }
}

interface MirroredSubset {
  readonly groups: readonly EndpointGroup[]
  readonly invalid: readonly string[]
  readonly skipped: number
}

function mirrorSubset({ addresses, notReadyAddresses, ports }: EndpointSubset): MirroredSubset {
  const all = [
    ...addresses.map((address) => ({ address, ready: true })),
    ...notReadyAddresses.map((address) => ({ address, ready: false })),
  ]
  const parsed = all.map(({ address, ready }) => ({ address, ready, ip: parseWorkloadIp(address.ip) }))
  const groups = families.flatMap((family): EndpointGroup[] => {
    const members = parsed.filter(({ ip }) => ip !== undefined && ipFamily(ip) === family)
    const endpoints = members.slice(0, maxAddressesPerSubset).map(({ address, ready, ip }) => ({
      addresses: [ip ?? address.ip],
      conditions: { ready, serving: ready, terminating: false },
      hostname: address.hostname,
      nodeName: address.nodeName,
      targetRef: address.targetRef,
    }))
    return endpoints.length === 0 ? [] : [{ family, ports, endpoints }]
  })
  const invalid = parsed.filter(({ ip }) => ip === undefined).map(({ address }) => address.ip)
  const taken = groups.reduce((sum, { endpoints }) => sum + endpoints.length, 0)
  return { groups, invalid, skipped: all.length - invalid.length - taken }
}
