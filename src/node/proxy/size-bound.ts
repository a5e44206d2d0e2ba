import type { EndpointSlice } from '../../model/endpoint-slice.ts'
import { ipFamily } from '../../model/ip.ts'
import type { Service, ServicePort } from '../../model/service.ts'
import { type SizeCount, sizeOf } from '../../netfilter/count-size.ts'
import type { ProxyRuleSettings } from '../../netfilter/settings.ts'
import type { PlanNode } from './plan.ts'

/**
 * Counts at most how many rules or elements a Service makes in this family, by its ports and the endpoints of its slices, none of which
 * is looked at. Addresses of the other family count too.
 */
export function sizeUpperBound(
  { ofPort }: SizeCount,
  service: Service,
  slices: readonly EndpointSlice[],
  settings: ProxyRuleSettings & PlanNode,
): number {
  if (!service.clusterIps.some((address) => ipFamily(address) === settings.family)) return 0
  const isLocal = service.internalTrafficPolicy === 'Local' || service.externalTrafficPolicy === 'Local'
  return service.ports.reduce((sum, port) => {
    const endpoints = countEndpoints(port, slices, settings)
    return sum + ofPort(sizeOf(service, { endpoints, localEndpoints: isLocal ? endpoints : 0 }), settings)
  }, 0)
}

function countEndpoints(wanted: ServicePort, slices: readonly EndpointSlice[], { family }: PlanNode): number {
  let count = 0
  for (const slice of slices) {
    if (slice.family !== family) continue
    for (const { name, protocol } of slice.ports)
      if (name === wanted.name && protocol === wanted.protocol) count += slice.endpoints.length
  }
  return count
}
