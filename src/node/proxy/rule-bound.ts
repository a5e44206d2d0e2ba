import type { EndpointSlice } from '../../model/endpoint-slice.ts'
import type { Service, ServicePort } from '../../model/service.ts'
import { costOfEndpoint, countRules } from '../../netfilter/count-rules.ts'
import type { ProxyRuleSettings } from '../../netfilter/settings.ts'
import { type PlanNode, planFrontends } from './plan.ts'

/** At most how many rules a Service makes in this family, by its ports and the endpoints of its slices, none of which is looked at. */
export function ruleUpperBound(
  service: Service,
  slices: readonly EndpointSlice[],
  settings: ProxyRuleSettings & PlanNode,
): number {
  const policies = service.internalTrafficPolicy === 'Local' || service.externalTrafficPolicy === 'Local' ? 2 : 1
  const { choose, translate } = costOfEndpoint(service, settings)
  const endpoints = service.ports.reduce((sum, port) => sum + endpointsOf(port, slices, settings), 0)
  return countRules(planFrontends(service, [], settings), settings) + endpoints * (policies * choose + translate)
}

function endpointsOf(wanted: ServicePort, slices: readonly EndpointSlice[], { family }: PlanNode): number {
  return slices
    .filter((slice) => slice.family === family)
    .reduce((sum, { ports, endpoints }) => {
      const serving = ports.filter(({ name, protocol }) => name === wanted.name && protocol === wanted.protocol)
      return sum + serving.length * endpoints.length
    }, 0)
}
