import type { Endpoint, EndpointSlice } from '../../src/model/endpoint-slice.ts'
import { type Cidr, type Ip, ipFamily, parseCidr, parseIp } from '../../src/model/ip.ts'
import type { Protocol, Service, ServicePort } from '../../src/model/service.ts'

export function ip(text: string): Ip {
  const address = parseIp(text)
  if (address === undefined) throw new Error(`not an address: ${text}`)
  return address
}

export function cidr(text: string): Cidr {
  const network = parseCidr(text)
  if (network === undefined) throw new Error(`not a network: ${text}`)
  return network
}

export function makeService(key: string, clusterIp: string, details: Partial<Service> = {}): Service {
  const [namespace = '', name = ''] = key.split('/')
  return {
    key,
    namespace,
    name,
    type: 'ClusterIP',
    clusterIps: [ip(clusterIp)],
    headless: false,
    ports: [{ name: 'http', protocol: 'TCP', port: 80 }],
    externalIps: [],
    loadBalancerVips: [],
    externalTrafficPolicy: 'Cluster',
    internalTrafficPolicy: 'Cluster',
    publishNotReadyAddresses: false,
    ...details,
  }
}

export function makePort(name: string, protocol: Protocol, port: number, nodePort?: number): ServicePort {
  return { name, protocol, port, ...(nodePort === undefined ? {} : { nodePort }) }
}

export function makeEndpoint(address: string, details: Partial<Endpoint> = {}): Endpoint {
  return { address: ip(address), ready: true, serving: true, terminating: false, ...details }
}

/** A slice with ports like `['http', 'TCP', 8080]`; endpoints given by address are ready. */
export function makeSlice(
  service: string,
  ports: readonly (readonly [name: string, protocol: Protocol, port: number])[],
  endpoints: readonly (string | Endpoint)[],
  suffix = 'a',
): EndpointSlice {
  const list = endpoints.map((endpoint) => (typeof endpoint === 'string' ? makeEndpoint(endpoint) : endpoint))
  return {
    source: `endpointslices/${service}-${suffix}`,
    service,
    family: list[0] === undefined ? 'IPv4' : ipFamily(list[0].address),
    ports: ports.map(([name, protocol, port]) => ({ name, protocol, port })),
    endpoints: list,
  }
}
