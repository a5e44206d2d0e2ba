import { type Ip, type IpFamily, ipFamily, parseIp } from '../../model/ip.ts'
import type { Node } from '../objects/node.ts'
import { isFinished, isReady, type Pod, readyCondition } from '../objects/pod.ts'
import type { Service } from '../objects/service.ts'
import type { EndpointHints, WantedEndpoint, WantedPort } from './wanted-slices.ts'

/** Whether the pod may serve at all: it has an address and has not ended. */
export function mayServe(pod: Pod): boolean {
  return pod.status.ips.length > 0 && !isFinished(pod)
}

export function isTerminating({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined
}

/** The pod's first address of that family. */
export function podIp({ status }: Pod, family: IpFamily): Ip | undefined {
  return status.ips.find((ip) => ipFamily(ip) === family)
}

/** The families a Service's endpoints are wanted in; what the server did not fill in is told by the cluster address. */
export function serviceFamilies({ spec }: Service): readonly IpFamily[] {
  if (spec.ipFamilies.length > 0) return spec.ipFamilies
  const ip = parseIp(spec.clusterIP ?? '')
  return [ip === undefined ? 'IPv4' : ipFamily(ip)]
}

type ServicePort = Service['spec']['ports'][number]

/**
 * The Service's ports as each pod serves them; a port whose name no container of the pod knows is left out. Where no port goes by name all pods have the very same list.
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

/** Undefined where each pod says for itself what the name stands for. */
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

/** Undefined where the pod has no address of the family. */
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

/** A pod has a name of its own below its Service when it asks for one there. */
export function hostnameFor({ metadata, spec }: Pod, service: Service): string | undefined {
  const isBelow = spec.subdomain === service.metadata.name && metadata.namespace === service.metadata.namespace
  return spec.hostname && isBelow ? spec.hostname : undefined
}

export function targetRefOf({ metadata: { namespace, name, uid } }: Pod) {
  return { kind: 'Pod', namespace, name, uid }
}

/** Who should use the endpoint (`trafficDistribution`): its zone, and its node before others with PreferSameNode. */
function hintsFor(
  wish: string | undefined,
  zone: string | undefined,
  nodeName: string | undefined,
): EndpointHints | undefined {
  if (wish === 'PreferClose' || wish === 'PreferSameZone') return zone ? { forZones: [{ name: zone }] } : undefined
  if (wish !== 'PreferSameNode' || !nodeName) return undefined
  return { ...(zone && { forZones: [{ name: zone }] }), forNodes: [{ name: nodeName }] }
}

/** When the newest change that these endpoints show happened: a pod became ready or not, or the Service came. */
export function lastTriggerTime(service: Service, pods: readonly Pod[]): string | undefined {
  let newest = service.metadata.creationTimestamp
  for (const pod of pods) {
    const time = readyCondition(pod)?.lastTransitionTime ?? ''
    if (time > newest) newest = time
  }
  return newest || undefined
}
