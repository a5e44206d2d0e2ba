import type { Endpoint, EndpointPort, EndpointSlice } from '../../model/endpoint-slice.ts'
import type { Service, ServicePort } from '../../model/service.ts'

// Every field of these shapes must stand here: one left out would change without anyone noticing, so the compiler counts them.
const serviceFields = {
  key: 1,
  namespace: 1,
  name: 1,
  type: 1,
  clusterIps: 1,
  headless: 1,
  foreignProxy: 1,
  externalName: 1,
  ports: 1,
  externalIps: 1,
  loadBalancerVips: 1,
  sourceRanges: 1,
  healthCheckNodePort: 1,
  externalTrafficPolicy: 1,
  internalTrafficPolicy: 1,
  affinity: 1,
  publishNotReadyAddresses: 1,
  protocol: 1,
  port: 1,
  nodePort: 1,
  timeoutSeconds: 1,
} satisfies Record<keyof Service | keyof ServicePort | keyof NonNullable<Service['affinity']>, 1>

const sliceFields = {
  source: 1,
  service: 1,
  family: 1,
  namesOnly: 1,
  ports: 1,
  endpoints: 1,
  name: 1,
  protocol: 1,
  port: 1,
  address: 1,
  ready: 1,
  serving: 1,
  terminating: 1,
  nodeName: 1,
  hostname: 1,
  zone: 1,
  hints: 1,
  target: 1,
  zones: 1,
  nodes: 1,
} satisfies Record<keyof EndpointSlice | keyof EndpointPort | keyof Endpoint | keyof NonNullable<Endpoint['hints']>, 1>

const serviceFieldNames = Object.keys(serviceFields)
const sliceFieldNames = Object.keys(sliceFields)

/** JSON with the fields in one fixed order: equal objects give equal text, for comparison and for `hashItem`. */
export function contentOf(item: Service | EndpointSlice): string {
  return JSON.stringify(item, 'source' in item ? sliceFieldNames : serviceFieldNames)
}
