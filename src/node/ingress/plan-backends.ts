import { hash } from 'node:crypto'
import { type ObjectKey, objectKey } from '../../model/api-object.ts'
import { type Candidate, collectCandidates, selectAnswering } from '../../model/candidates.ts'
import type { Ingress, IngressBackend, IngressSettings } from '../../model/ingress.ts'
import { ipFamily } from '../../model/ip.ts'
import type { Backend } from '../../model/routing-table.ts'
import type { Service, ServicePort } from '../../model/service.ts'
import type { NodeState } from '../state/index.ts'

/** A backend as an Ingress asks for it. */
export interface WantedBackend {
  readonly id: string
  /** Without a name where the Ingress names no Service that can be read. */
  readonly service: ObjectKey
  readonly port: string
  readonly settings: IngressSettings
  /** The reason why it names no Service. */
  readonly why?: string
}

/** The Services of the cluster and their endpoints. */
export type ServiceSource = Pick<NodeState, 'service' | 'slicesOf'>

const maxIdLength = 63
const hashLength = 16

export function wantBackend({ namespace, settings }: Ingress, backend: IngressBackend): WantedBackend {
  const isNamed = backend.kind === 'service'
  const wanted = {
    service: objectKey(namespace, isNamed ? backend.service : ''),
    port: isNamed ? backend.port : '',
    settings,
    ...(!isNamed && { why: backend.why }),
  }
  return { id: backendId(namespace, backend, settings), ...wanted }
}

/** Names a backend. `_` is in no name of an object, so that no two backends share an id. */
function backendId(namespace: string, backend: IngressBackend, settings: IngressSettings): string {
  const parts = backend.kind === 'service' ? [backend.service, backend.port] : ['', shortHash(backend.why, 8)]
  const isUsual = settings.balance === 'round-robin' && settings.stickiness === undefined
  const cookie = settings.stickiness?.cookie ?? ''
  const text = [namespace, ...parts, ...(isUsual ? [] : [shortHash(`${settings.balance} ${cookie}`, 8)])].join('_')
  if (text.length <= maxIdLength) return text
  return `${text.slice(0, maxIdLength - hashLength - 1)}_${shortHash(text, hashLength)}`
}

function shortHash(text: string, length: number): string {
  return hash('sha256', text, 'hex').slice(0, length)
}

/** Finds the endpoints of a backend: those of the whole cluster that are ready, else those that are going but still serve. */
export function resolveBackend(
  { id, service: key, port, settings, why }: WantedBackend,
  source: ServiceSource,
  h2cProtocols: readonly string[],
): Backend {
  const service = why === undefined ? source.service(key) : undefined
  const found = why === undefined ? findPort(key, service, port) : `the backend ${why}`
  const isFound = service !== undefined && typeof found !== 'string'
  const candidates = isFound ? collectCandidates(found, source.slicesOf(key), service.publishNotReadyAddresses) : []
  return {
    id,
    service: key,
    port,
    endpoints: isFound ? answering(service, candidates) : [],
    ...settings,
    protocol: isFound && speaksH2c(found, h2cProtocols) ? 'h2c' : 'http1',
    ...(typeof found === 'string' && { problem: found }),
  }
}

/** The port of a Service by number or name, or why there is none that can be spoken to. */
export function findPort(key: ObjectKey, service: Service | undefined, port: string): ServicePort | string {
  if (service === undefined) return `Service ${key} does not exist`
  if (service.type === 'ExternalName')
    return `Service ${key} is of type ExternalName, whose name is not followed: it may lead out of the cluster`
  const named = service.ports.filter((each) => each.name === port || String(each.port) === port)
  const found = named.find(({ protocol }) => protocol === 'TCP')
  if (found !== undefined && speaksTls(found))
    return `port ${port} of Service ${key} has appProtocol ${found.appProtocol}: TLS is not spoken to endpoints`
  if (found !== undefined) return found
  if (named[0] !== undefined) return `port ${port} of Service ${key} is ${named[0].protocol}, not TCP`
  const has = service.ports.map((each) => (each.name === '' ? `${each.port}` : `${each.port} ${each.name}`))
  return `Service ${key} has no port ${port}, only ${has.join(', ') || 'none'}`
}

/** Requests in plain text would fail at an endpoint that expects TLS. */
function speaksTls({ appProtocol = '' }: ServicePort): boolean {
  return appProtocol === 'https' || appProtocol.endsWith('/wss')
}

/** A pod with addresses of both families is one endpoint: the family of the cluster IP is used, the other where it has no endpoint. */
function answering({ clusterIps: [first] }: Service, candidates: readonly Candidate[]): Backend['endpoints'] {
  const family = first === undefined ? 'IPv4' : ipFamily(first)
  const isOfFamily = ({ endpoint }: Candidate) => ipFamily(endpoint.address) === family
  const own = selectAnswering(candidates.filter(isOfFamily))
  const chosen = own.length > 0 ? own : selectAnswering(candidates)
  return chosen.map(({ endpoint, port }) => ({ ip: endpoint.address, port }))
}

/** Checks the protocol that the Service names; a port without one may be named after its protocol: `grpc`, `grpc-admin`. */
function speaksH2c({ appProtocol, name }: ServicePort, h2cProtocols: readonly string[]): boolean {
  if (appProtocol !== undefined) return appProtocol === 'grpc' || h2cProtocols.includes(appProtocol)
  return /^(grpc|h2c)(-|$)/.test(name)
}
