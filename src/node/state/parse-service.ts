import { z } from 'zod'
import type { Dialect } from '../../model/dialect.ts'
import { type Ip, ipFamily } from '../../model/ip.ts'
import type { Service, ServicePort, ServiceType, TrafficPolicy } from '../../model/service.ts'
import * as fields from './fields.ts'
import { isLeftToOthers } from './parse-endpoint-slice.ts'
import type { Field, FieldReader, Parsed } from './problem.ts'

const defaultAffinitySeconds = 10_800
const maxExternalWays = 10_000

const serviceType: Field<ServiceType> = fields.oneOf(
  ['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'],
  'ClusterIP, NodePort, LoadBalancer or ExternalName',
)
const trafficPolicy: Field<TrafficPolicy> = fields.oneOf(['Cluster', 'Local'], 'Cluster or Local')
const affinity: Field<'None' | 'ClientIP'> = fields.oneOf(['None', 'ClientIP'], 'None or ClientIP')
const affinitySeconds: Field<number> = { schema: z.int().min(1).max(86_400), expected: 'seconds from 1 to 86400' }
const ipMode: Field<'VIP' | 'Proxy'> = fields.oneOf(['VIP', 'Proxy'], 'VIP or Proxy')
const appProtocol: Field<string> = fields.matching(
  /^[A-Za-z0-9][A-Za-z0-9._/-]{0,316}$/,
  'an application protocol ([A-Za-z0-9._/-])',
)
const externalName: Field<string> = {
  schema: z
    .string()
    .toLowerCase()
    .regex(/^(?=.{1,254}$)[a-z0-9_]([-a-z0-9_.]*[a-z0-9_])?\.?$/),
  expected: 'a DNS name',
}

/**
 * A Service of the API as this node uses it. A field that makes no sense takes its default, an element of a list that makes
 * none is left out, and each is reported; only a Service without identity or spec gives no value. One that another proxy
 * or that no proxy serves (labels `service-proxy-name`, `headless`) says so.
 */
export function parseService(json: unknown, dialect: Dialect): Parsed<Service> {
  return fields.parseObject('Service', json, (reader, object, identity) => {
    const spec = reader.required(fields.record, object['spec'], 'spec')
    const metadata = reader.required(fields.record, object['metadata'], 'metadata')
    if (spec === undefined || metadata === undefined) return undefined
    const status = reader.optional(fields.record, object['status'], 'status') ?? {}
    const service = limitWays(reader, {
      ...readService(reader, spec, status, identity),
      ...readAge(metadata),
    })
    return isLeftToOthers(identity, dialect) ? { ...service, foreignProxy: true } : service
  })
}

function readService(
  reader: FieldReader,
  spec: fields.JsonRecord,
  status: fields.JsonRecord,
  { key, namespace, name }: fields.Identity,
): Service {
  const type = reader.optional(serviceType, spec['type'], 'spec.type') ?? 'ClusterIP'
  const isName = type === 'ExternalName'
  const target = isName ? reader.required(externalName, spec['externalName'], 'spec.externalName') : undefined
  const clientIp = readAffinity(reader, spec)
  const policy = (field: string) => reader.optional(trafficPolicy, spec[field], `spec.${field}`) ?? 'Cluster'
  return {
    key,
    namespace,
    name,
    type,
    clusterIps: isName ? [] : readClusterIps(reader, spec),
    headless: !isName && isHeadless(spec),
    ...(target !== undefined && { externalName: target }),
    ports: readPorts(reader, spec, type),
    externalIps: fields.readValues(reader, fields.workloadAddress, spec['externalIPs'], 'spec.externalIPs'),
    ...readLoadBalancer(reader, spec, status, type),
    externalTrafficPolicy: policy('externalTrafficPolicy'),
    internalTrafficPolicy: policy('internalTrafficPolicy'),
    ...(clientIp !== undefined && { affinity: clientIp }),
    publishNotReadyAddresses:
      reader.optional(fields.flag, spec['publishNotReadyAddresses'], 'spec.publishNotReadyAddresses') ?? false,
  }
}

/** Each address with each port is rules of its own: what claims more than the kernel can hold has its ClusterIP only. */
function limitWays(reader: FieldReader, service: Service): Service {
  const { ports, externalIps, loadBalancerVips } = service
  const count = ports.length * (externalIps.length + loadBalancerVips.length)
  if (count <= maxExternalWays) return service
  reader.report('spec.externalIPs', `at most ${maxExternalWays} pairs of external address and port`, count)
  return { ...service, externalIps: [], loadBalancerVips: [] }
}

/** The server sets both; what makes no sense only makes the Service the youngest. */
function readAge(metadata: fields.JsonRecord): Pick<Service, 'uid' | 'createdAtMs'> {
  const { uid, creationTimestamp } = metadata
  const createdAtMs = typeof creationTimestamp === 'string' ? Date.parse(creationTimestamp) : Number.NaN
  return { ...(typeof uid === 'string' && { uid }), ...(!Number.isNaN(createdAtMs) && { createdAtMs }) }
}

function isHeadless(spec: fields.JsonRecord): boolean {
  return spec['clusterIP'] === 'None'
}

/** `clusterIPs` where there are any, else `clusterIP`; at most one of each family. */
function readClusterIps(reader: FieldReader, spec: fields.JsonRecord): Ip[] {
  if (isHeadless(spec)) return []
  const all = reader.optional(fields.list, spec['clusterIPs'], 'spec.clusterIPs') ?? []
  if (all.length === 0) return readSingleClusterIp(reader, spec['clusterIP'])
  const ips = fields.readValues(reader, fields.workloadAddress, all, 'spec.clusterIPs')
  const kept = ips.filter((ip, index) => ips.findIndex((other) => ipFamily(other) === ipFamily(ip)) === index)
  if (kept.length < ips.length) reader.report('spec.clusterIPs', 'at most one address of each family', all)
  return kept
}

function readSingleClusterIp(reader: FieldReader, json: unknown): Ip[] {
  const ip = json === '' ? undefined : reader.optional(fields.workloadAddress, json, 'spec.clusterIP')
  return ip === undefined ? [] : [ip]
}

/** Reads the fields that only a Service of type LoadBalancer has. */
function readLoadBalancer(
  reader: FieldReader,
  spec: fields.JsonRecord,
  status: fields.JsonRecord,
  type: ServiceType,
): Pick<Service, 'loadBalancerVips' | 'proxiedVips' | 'sourceRanges' | 'healthCheckNodePort'> {
  if (type !== 'LoadBalancer') return { loadBalancerVips: [] }
  const balancer = reader.optional(fields.record, status['loadBalancer'], 'status.loadBalancer') ?? {}
  const vips = fields.readEach(reader, balancer['ingress'], 'status.loadBalancer.ingress', (ingress, path) =>
    readVip(reader, ingress, path),
  )
  const vipsOf = (mode: 'VIP' | 'Proxy') => [...new Set(vips.filter((vip) => vip.mode === mode).map(({ ip }) => ip))]
  const proxied = vipsOf('Proxy')
  const ranges = reader.optional(fields.list, spec['loadBalancerSourceRanges'], 'spec.loadBalancerSourceRanges') ?? []
  const isLocal = spec['externalTrafficPolicy'] === 'Local'
  const healthPort = isLocal ? readNodePort(reader, spec['healthCheckNodePort'], 'spec.healthCheckNodePort') : undefined
  return {
    loadBalancerVips: vipsOf('VIP'),
    ...(proxied.length > 0 && { proxiedVips: proxied }),
    // A range that makes no sense must not open the way to everyone.
    ...(ranges.length > 0 && {
      sourceRanges: fields.readValues(reader, fields.network, ranges, 'spec.loadBalancerSourceRanges'),
    }),
    ...(healthPort !== undefined && { healthCheckNodePort: healthPort }),
  }
}

/** Nothing for a load balancer that is known by name only. One of mode `Proxy` rewrites the destination itself. */
function readVip(
  reader: FieldReader,
  ingress: fields.JsonRecord,
  path: string,
): { readonly ip: Ip; readonly mode: 'VIP' | 'Proxy' } | undefined {
  const mode = reader.optional(ipMode, ingress['ipMode'], path, '.ipMode') ?? 'VIP'
  const ip = ingress['ip'] === '' ? undefined : reader.optional(fields.workloadAddress, ingress['ip'], path, '.ip')
  return ip === undefined ? undefined : { ip, mode }
}

function readAffinity(reader: FieldReader, spec: fields.JsonRecord): Service['affinity'] {
  if (reader.optional(affinity, spec['sessionAffinity'], 'spec.sessionAffinity') !== 'ClientIP') return undefined
  const path = 'spec.sessionAffinityConfig'
  const config = reader.optional(fields.record, spec['sessionAffinityConfig'], path) ?? {}
  const clientIp = reader.optional(fields.record, config['clientIP'], path, '.clientIP') ?? {}
  const seconds = reader.optional(affinitySeconds, clientIp['timeoutSeconds'], `${path}.clientIP.timeoutSeconds`)
  return { timeoutSeconds: seconds ?? defaultAffinitySeconds }
}

function readPorts(reader: FieldReader, spec: fields.JsonRecord, type: ServiceType): readonly ServicePort[] {
  const taken: ServicePort[] = []
  return fields.readEach(reader, spec['ports'], 'spec.ports', (element, path) => {
    const port = readPort(reader, element, path, type)
    if (port === undefined || isTaken(reader, port, taken, path)) return undefined
    taken.push(port)
    return port
  })
}

/** Chains are named after name and protocol: two ports that share them would share their rules. */
function isTaken(reader: FieldReader, port: ServicePort, taken: readonly ServicePort[], path: string): boolean {
  const { name, protocol } = port
  const others = taken.filter((other) => other.protocol === protocol)
  const samePort = others.some((other) => other.port === port.port)
  const sameName = others.some((other) => other.name === name)
  if (samePort)
    reader.report(path, 'a port and protocol that no other port of the Service has', `${protocol} ${port.port}`)
  else if (sameName)
    reader.report(path, 'a name and protocol that no other port of the Service has', `${protocol} ${name || 'unnamed'}`)
  return samePort || sameName
}

function readPort(
  reader: FieldReader,
  element: fields.JsonRecord,
  path: string,
  type: ServiceType,
): ServicePort | undefined {
  const name = reader.optional(fields.portName, element['name'], path, '.name') ?? ''
  const protocol = fields.readProtocol(reader, element, path)
  const port = reader.required(fields.portNumber, element['port'], path, '.port')
  if (protocol === undefined || port === undefined) return undefined
  const nodePort = opensNodePort(type) ? readNodePort(reader, element['nodePort'], `${path}.nodePort`) : undefined
  const spoken = reader.optional(appProtocol, element['appProtocol'], path, '.appProtocol')
  return {
    name,
    protocol,
    port,
    ...(nodePort !== undefined && { nodePort }),
    ...(spoken !== undefined && { appProtocol: spoken }),
  }
}

function opensNodePort(type: ServiceType): boolean {
  return type === 'NodePort' || type === 'LoadBalancer'
}

/** 0 means that none is allocated. */
function readNodePort(reader: FieldReader, json: unknown, path: string): number | undefined {
  return json === 0 ? undefined : reader.optional(fields.portNumber, json, path)
}
