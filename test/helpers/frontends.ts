import type { Frontend } from '../../src/netfilter/frontend.ts'
import { ip } from './services.ts'

/** Makes the frontend of a Service with one TCP port; its endpoints are at port 8080 of these addresses. */
export function makeFrontend(
  servicePort: string,
  clusterIp: string,
  addresses: readonly string[],
  more: Partial<Frontend> = {},
): Frontend {
  return {
    servicePort,
    protocol: 'TCP',
    clusterIp: ip(clusterIp),
    port: 80,
    externalIps: [],
    loadBalancerVips: [],
    internalPolicy: 'Cluster',
    externalPolicy: 'Cluster',
    hasEndpoints: addresses.length > 0,
    clusterEndpoints: addresses.map((address) => ({ address: ip(address), port: 8080 })),
    localEndpoints: [],
    ...more,
  }
}
