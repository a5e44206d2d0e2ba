import { isDeepStrictEqual } from 'node:util'
import { without } from '../document.ts'
import {
  needsHealthCheckPort,
  type ServicePortSpec,
  type ServiceSpec,
  usesClusterIp,
  usesNodePorts,
} from './service-spec.ts'

const defaultAffinitySeconds = 10_800

/** The defaults that depend on other fields; the unconditional ones stand in the schema. */
export function defaultService(spec: ServiceSpec): ServiceSpec {
  const ports = spec.ports?.map(defaultTargetPort)
  return {
    ...defaultAffinity(spec),
    ...(ports === undefined ? {} : { ports }),
    ...defaultTrafficPolicies(spec),
    ...mirrorClusterIp(spec),
  }
}

/**
 * An update that leaves out what the server once chose keeps it, and what only the old type needed goes: so a manifest without
 * addresses can be put again and again, and a NodePort Service can become a ClusterIP one.
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

function defaultTrafficPolicies(spec: ServiceSpec): Partial<ServiceSpec> {
  if (spec.type === 'ExternalName') return {}
  const isExternal = usesNodePorts(spec) || (spec.externalIPs ?? []).length > 0
  return {
    internalTrafficPolicy: spec.internalTrafficPolicy ?? 'Cluster',
    ...(isExternal ? { externalTrafficPolicy: spec.externalTrafficPolicy ?? 'Cluster' } : {}),
    ...(spec.type === 'LoadBalancer'
      ? { allocateLoadBalancerNodePorts: spec.allocateLoadBalancerNodePorts ?? true }
      : {}),
  }
}

function mirrorClusterIp(spec: ServiceSpec): Partial<ServiceSpec> {
  const first = spec.clusterIP || spec.clusterIPs?.[0]
  if (first === undefined || first === '' || spec.type === 'ExternalName') return {}
  return { clusterIP: spec.clusterIP || first, clusterIPs: spec.clusterIPs ?? [first] }
}

function carryClusterIp(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  if (spec.type === 'ExternalName') {
    const isOld = (field: string) => isDeepStrictEqual(spec[field], old[field])
    return without(spec, ...['clusterIP', 'clusterIPs'].filter(isOld))
  }
  const isOnlyMirrorOld = spec.clusterIP !== old.clusterIP && isDeepStrictEqual(spec.clusterIPs, old.clusterIPs)
  const current = isOnlyMirrorOld ? without(spec, 'clusterIPs') : spec
  const isUnset = !current.clusterIP && (current.clusterIPs ?? []).length === 0
  if (!isUnset || old.clusterIP === undefined || old.type === 'ExternalName') return current
  return { ...current, clusterIP: old.clusterIP, clusterIPs: old.clusterIPs ?? [old.clusterIP] }
}

function dropOldFields(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  return dropOldNodePorts(dropOldTrafficPolicy(spec, old), old)
}

function dropOldNodePorts(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  if (usesNodePorts(spec) || !usesNodePorts(old)) return spec
  const oldNodePorts = new Set((old.ports ?? []).map(({ nodePort }) => nodePort))
  const ports = (spec.ports ?? []).map((port) => (oldNodePorts.has(port.nodePort) ? without(port, 'nodePort') : port))
  return { ...without(spec, 'allocateLoadBalancerNodePorts'), ports }
}

/** A policy that nobody changed goes with the last way in from outside. */
function dropOldTrafficPolicy(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  const isPolicyOld = spec.externalTrafficPolicy === old.externalTrafficPolicy
  return isPolicyOld && isExternal(old) && !isExternal(spec) ? without(spec, 'externalTrafficPolicy') : spec
}

function isExternal(spec: ServiceSpec): boolean {
  return usesNodePorts(spec) || (spec.externalIPs ?? []).length > 0
}

function carryNodePorts(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  if (!usesNodePorts(spec) || spec.ports === undefined) return spec
  const asked = new Set(spec.ports.map(({ nodePort }) => nodePort))
  const ports = spec.ports.map((port) => {
    if (port.nodePort !== undefined && port.nodePort !== 0) return port
    const before = old.ports?.find((other) => other.port === port.port && other.protocol === port.protocol)
    const kept = before?.nodePort
    return kept === undefined || asked.has(kept) ? port : { ...port, nodePort: kept }
  })
  return { ...spec, ports }
}

/** To `SingleStack` the second family and its address go, unless the request says something else about them. */
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

/** Whether the virtual address may not change any more: it was given and is still needed. */
export function isClusterIpFixed(spec: ServiceSpec, old: ServiceSpec): boolean {
  return old.type !== 'ExternalName' && spec.type !== 'ExternalName' && (usesClusterIp(old) || old.clusterIP === 'None')
}
