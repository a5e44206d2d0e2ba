import { type IpFamily, ipFamily, parseIp } from '../../model/ip.ts'
import type { Node } from '../objects/node.ts'
import type { Pod } from '../objects/pod.ts'
import type { Service } from '../objects/service.ts'
import type { EndpointHints, WantedEndpoint, WantedPort } from './wanted-slices.ts'

/** Whether the pod may serve at all: it has an address and has not ended. */
export function mayServe({ status }: Pod): boolean {
  return podIps(status).length > 0 && status.phase !== 'Succeeded' && status.phase !== 'Failed'
}

export function isTerminating({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined
}

export function isReady({ status }: Pod): boolean {
  return status.conditions.some(({ type, status: value }) => type === 'Ready' && value === 'True')
}

/** The pod's first address of that family, in its canonical text. */
export function podIp({ status }: Pod, family: IpFamily): string | undefined {
  return podIps(status)
    .map(parseIp)
    .find((ip) => ip !== undefined && ipFamily(ip) === family)
}

function podIps({ podIP, podIPs }: Pod['status']): readonly string[] {
  const ips = podIPs.map(({ ip }) => ip)
  return ips.length > 0 || !podIP ? ips : [podIP]
}

/** The families a Service's endpoints are wanted in; what the server did not fill in is told by the cluster address. */
export function serviceFamilies({ spec }: Service): readonly IpFamily[] {
  if (spec.ipFamilies.length > 0) return spec.ipFamilies
  const ip = parseIp(spec.clusterIP ?? '')
  return [ip === undefined ? 'IPv4' : ipFamily(ip)]
}

/** The Service's ports as this pod serves them; a port whose name no container of the pod knows is left out. */
export function resolvePorts({ spec }: Service, pod: Pod): readonly WantedPort[] {
  return spec.ports.flatMap((servicePort) => {
    const { name, protocol, appProtocol } = servicePort
    const port = resolvePort(servicePort, pod)
    return port === undefined ? [] : [{ name, protocol, port, ...(appProtocol !== undefined && { appProtocol }) }]
  })
}

function resolvePort(
  { targetPort, port, protocol }: Service['spec']['ports'][number],
  { spec }: Pod,
): number | undefined {
  if (targetPort === undefined || targetPort === 0 || targetPort === '') return port
  if (typeof targetPort === 'number') return targetPort
  if (/^\d+$/.test(targetPort)) return Number(targetPort)
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
  const times = pods.flatMap(({ status }) =>
    status.conditions.flatMap(({ type, lastTransitionTime }) => (type === 'Ready' && lastTransitionTime) || []),
  )
  return [service.metadata.creationTimestamp ?? '', ...times].toSorted().at(-1) || undefined
}
