import { type Ip, type IpFamily, ipFamily, parseIp } from '../../model/ip.ts'
import type { Node } from '../objects/node.ts'
import { isFinished, isReady, type Pod, readyCondition } from '../objects/pod.ts'
import type { Service } from '../objects/service.ts'
import type { EndpointHints, WantedEndpoint, WantedPort } from './wanted-slices.ts'

/** Checks whether the pod can be an endpoint: it has an address and has not ended. */
export function mayServe(pod: Pod): boolean {
  return pod.status.ips.length > 0 && !isFinished(pod)
}

export function isTerminating({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined
}

/** Returns the pod's first address of that family. */
export function podIp({ status }: Pod, family: IpFamily): Ip | undefined {
  return status.ips.find((ip) => ipFamily(ip) === family)
}

/** Returns the families of a Service's endpoints; if the server did not fill them in, the cluster address decides. */
export function serviceFamilies({ spec }: Service): readonly IpFamily[] {
  if (spec.ipFamilies.length > 0) return spec.ipFamilies
  const ip = parseIp(spec.clusterIP ?? '')
  return [ip === undefined ? 'IPv4' : ipFamily(ip)]
}

type ServicePort = Service['spec']['ports'][number]

/**
 * Returns a function from a pod to the Service's ports on it; a named port that no container of the pod has is left out. Without named ports, all
 * pods share one list object.
 */
export function portResolver({ spec }: Service): (pod: Pod) => readonly WantedPort[] {
  const numbers = spec.ports.map(portNumber)
  if (!numbers.includes(undefined)) {
    const shared = spec.ports.map((port, index) => wantedPort(port, numbers[index] ?? port.port))
    return () => shared
  }
  return (pod) =>
    spec.ports.flatMap((port, index) => {
      const resolved = numbers[index] ?? namedPort(port, pod)
      return resolved === undefined ? [] : [wantedPort(port, resolved)]
    })
}

function wantedPort({ name, protocol, appProtocol }: ServicePort, port: number): WantedPort {
  return { name, protocol, port, ...(appProtocol !== undefined && { appProtocol }) }
}

/** Returns the target port's number; undefined for a named port, which each pod resolves for itself. */
function portNumber({ targetPort, port }: ServicePort): number | undefined {
  if (targetPort === undefined || targetPort === 0 || targetPort === '') return port
  if (typeof targetPort === 'number') return targetPort
  return /^\d+$/.test(targetPort) ? Number(targetPort) : undefined
}

function namedPort({ targetPort, protocol }: ServicePort, { spec }: Pod): number | undefined {
  const sidecars = spec.initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always')
  return [...spec.containers, ...sidecars]
    .flatMap(({ ports }) => ports)
    .find((candidate) => candidate.name === targetPort && candidate.protocol === protocol)?.containerPort
}

export interface EndpointContext {
  readonly service: Service
  readonly family: IpFamily
  readonly node: Node | undefined
  readonly zoneLabel: string
}

/** Returns the endpoint of a pod; undefined if the pod has no address of the family. */
export function toEndpoint(
  pod: Pod,
  { service, family, node, zoneLabel }: EndpointContext,
): WantedEndpoint | undefined {
  const address = podIp(pod, family)
  if (address === undefined) return undefined
  const serving = isReady(pod)
  const terminating = isTerminating(pod)
  const ready = service.spec.publishNotReadyAddresses || (serving && !terminating)
  const zone = node?.metadata.labels?.[zoneLabel] || undefined
  return {
    addresses: [address],
    conditions: { ready, serving, terminating },
    hostname: hostnameFor(pod, service),
    nodeName: pod.spec.nodeName,
    zone,
    targetRef: targetRefOf(pod),
    hints: ready ? hintsFor(service.spec.trafficDistribution, zone, pod.spec.nodeName) : undefined,
  }
}

/** Returns the pod's DNS host name below its Service, if the pod sets one. */
export function hostnameFor({ metadata, spec }: Pod, service: Service): string | undefined {
  const isBelow = spec.subdomain === service.metadata.name && metadata.namespace === service.metadata.namespace
  return spec.hostname && isBelow ? spec.hostname : undefined
}

export function targetRefOf({ metadata: { namespace, name, uid } }: Pod) {
  return { kind: 'Pod', namespace, name, uid }
}

/** Returns the endpoint's hints (`trafficDistribution`): its zone, and its node first with PreferSameNode. */
function hintsFor(
  wish: string | undefined,
  zone: string | undefined,
  nodeName: string | undefined,
): EndpointHints | undefined {
  if (wish === 'PreferClose' || wish === 'PreferSameZone') return zone ? { forZones: [{ name: zone }] } : undefined
  if (wish !== 'PreferSameNode' || !nodeName) return undefined
  return { ...(zone && { forZones: [{ name: zone }] }), forNodes: [{ name: nodeName }] }
}

/** Returns the time of the newest change that these endpoints show: a pod became ready or unready, or the Service was created. */
export function lastTriggerTime(service: Service, pods: readonly Pod[]): string | undefined {
  let newest = service.metadata.creationTimestamp
  for (const pod of pods) {
    const time = readyCondition(pod)?.lastTransitionTime ?? ''
    if (time > newest) newest = time
  }
  return newest || undefined
}
