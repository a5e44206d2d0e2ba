import { isDeepStrictEqual } from 'node:util'
import { textAt, without } from '../document.ts'
import {
  isExternal,
  needsHealthCheckPort,
  type ServicePortSpec,
  type ServiceSpec,
  usesNodePorts,
} from './service-spec.ts'

const defaultAffinitySeconds = 10_800

/** Fills in the defaults that depend on other fields; the unconditional ones are in the schema. */
export function defaultService(spec: ServiceSpec): ServiceSpec {
  const ports = spec.ports?.map(defaultTargetPort)
  return {
    ...withoutEmptyPolicy(defaultAffinity(spec)),
    ...(ports === undefined ? {} : { ports }),
    ...defaultTrafficPolicies(spec),
    ...mirrorClusterIp(spec),
  }
}

/**
 * Completes an update. Values that the server allocated stay where the update omits them, and values that only the old
 * type needs are removed. So a manifest without addresses can be applied repeatedly, and a NodePort Service can become
 * a ClusterIP Service.
 */
export function carryAllocations(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  const addressed = carryFamilies(carryClusterIp(spec, old), old)
  return carryHealthCheckPort(carryNodePorts(dropOldFields(addressed, old), old), old)
}

function defaultTargetPort(port: ServicePortSpec): ServicePortSpec {
  const isGiven = port.targetPort !== undefined && port.targetPort !== '' && port.targetPort !== 0
  return isGiven || port.port === undefined ? port : { ...port, targetPort: port.port }
}

function defaultAffinity(spec: ServiceSpec): ServiceSpec {
  if (spec.sessionAffinity !== 'ClientIP') return without(spec, 'sessionAffinityConfig')
  const timeoutSeconds = spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? defaultAffinitySeconds
  return { ...spec, sessionAffinityConfig: { clientIP: { timeoutSeconds } } }
}

/** Removes an empty traffic policy: clients written in Go omit empty texts. */
function withoutEmptyPolicy(spec: ServiceSpec): ServiceSpec {
  return textAt(spec['externalTrafficPolicy']) === '' ? without(spec, 'externalTrafficPolicy') : spec
}

function defaultTrafficPolicies(spec: ServiceSpec): Partial<ServiceSpec> {
  if (spec.type === 'ExternalName') return {}
  return {
    internalTrafficPolicy: spec.internalTrafficPolicy ?? 'Cluster',
    ...(isExternal(spec) ? { externalTrafficPolicy: spec.externalTrafficPolicy || 'Cluster' } : {}),
    ...(spec.type === 'LoadBalancer'
      ? { allocateLoadBalancerNodePorts: spec.allocateLoadBalancerNodePorts ?? true }
      : {}),
  }
}

/** Fills in `clusterIPs` from `clusterIP`: a client that knows both fields writes both. */
function mirrorClusterIp({ clusterIP, clusterIPs = [], type }: ServiceSpec): Partial<ServiceSpec> {
  const isMirrored = !clusterIP || clusterIPs.length > 0 || type === 'ExternalName'
  return isMirrored ? {} : { clusterIPs: [clusterIP] }
}

function carryClusterIp(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  if (spec.type === 'ExternalName') {
    const isOld = (field: string) => isDeepStrictEqual(spec[field], old[field])
    return without(spec, ...['clusterIP', 'clusterIPs'].filter(isOld))
  }
  const clusterIP = spec.clusterIP || (old.type === 'ExternalName' ? '' : (old.clusterIP ?? ''))
  const given = spec.clusterIPs ?? []
  const clusterIPs = given.length === 0 && old.type !== 'ExternalName' ? (old.clusterIPs ?? []) : given
  if (clusterIP === '') return spec
  const isOnlyMirrorOld = clusterIP !== old.clusterIP && isDeepStrictEqual(clusterIPs, old.clusterIPs ?? [])
  return { ...spec, clusterIP, clusterIPs: isOnlyMirrorOld ? [clusterIP] : clusterIPs }
}

function dropOldFields(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  return dropOldBalancing(dropOldNodePorts(dropOldTrafficPolicy(spec, old), old), old)
}

function dropOldNodePorts(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  if (usesNodePorts(spec) || !usesNodePorts(old)) return spec
  const oldNodePorts = new Set((old.ports ?? []).map(({ nodePort }) => nodePort))
  const ports = spec.ports ?? []
  const isNew = ports.some(({ nodePort = 0 }) => nodePort !== 0 && !oldNodePorts.has(nodePort))
  return isNew ? spec : { ...spec, ports: ports.map((port) => without(port, 'nodePort')) }
}

/** Removes the load balancer fields when the type changes, except those that the update changes. */
function dropOldBalancing(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  if (spec.type === 'LoadBalancer' || old.type !== 'LoadBalancer') return spec
  return without(spec, ...balancing.filter((field) => spec[field] === old[field]))
}

const balancing = ['allocateLoadBalancerNodePorts', 'loadBalancerClass']

/** Removes an unchanged traffic policy when the Service loses its last external address or port. */
function dropOldTrafficPolicy(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  const isPolicyOld = spec.externalTrafficPolicy === old.externalTrafficPolicy
  return isPolicyOld && isExternal(old) && !isExternal(spec) ? without(spec, 'externalTrafficPolicy') : spec
}

/** Keeps the node port of each port that keeps its name, whatever else of it changes. */
function carryNodePorts(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  if (!usesNodePorts(spec) || spec.ports === undefined) return spec
  const held = new Map(old.ports?.map(({ name = '', nodePort }) => [name, nodePort]))
  const asked = new Set(spec.ports.map(({ nodePort }) => nodePort))
  const ports = spec.ports.map((port) => {
    const kept = held.get(port.name ?? '')
    const isKept = !port.nodePort && kept !== undefined && !asked.has(kept)
    return isKept ? { ...port, nodePort: kept } : port
  })
  return { ...spec, ports }
}

/** Removes the second family and its address on a change to `SingleStack`, unless the request changes them. */
function carryFamilies(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  if (spec.type === 'ExternalName') {
    const isOld = (field: string) => isDeepStrictEqual(spec[field], old[field])
    return without(spec, ...['ipFamilies', 'ipFamilyPolicy'].filter(isOld))
  }
  if (old.type === 'ExternalName') return spec
  const ipFamilyPolicy = spec.ipFamilyPolicy ?? old.ipFamilyPolicy
  const ipFamilies = spec.ipFamilies ?? old.ipFamilies
  const { clusterIPs } = spec
  const kept = {
    ...spec,
    ...(ipFamilyPolicy === undefined ? {} : { ipFamilyPolicy }),
    ...(ipFamilies === undefined ? {} : { ipFamilies }),
  }
  if (ipFamilyPolicy !== 'SingleStack' || old.ipFamilyPolicy === 'SingleStack') return kept
  const first = (list: readonly string[] | undefined, before: readonly string[] | undefined) =>
    list !== undefined && isDeepStrictEqual(list, before) ? list.slice(0, 1) : list
  const [families, addresses] = [first(ipFamilies, old.ipFamilies), first(clusterIPs, old.clusterIPs)]
  return {
    ...kept,
    ...(families === undefined ? {} : { ipFamilies: families }),
    ...(addresses === undefined ? {} : { clusterIPs: addresses }),
  }
}

function carryHealthCheckPort(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  const before = old.healthCheckNodePort
  if (before === undefined) return spec
  if (needsHealthCheckPort(spec)) return spec.healthCheckNodePort ? spec : { ...spec, healthCheckNodePort: before }
  return spec.healthCheckNodePort === before ? without(spec, 'healthCheckNodePort') : spec
}
