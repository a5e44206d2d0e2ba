import { whyNoneAnswers } from '../../model/candidates.ts'
import type { EndpointSlice } from '../../model/endpoint-slice.ts'
import type { IpFamily } from '../../model/ip.ts'
import type { Service, ServicePort } from '../../model/service.ts'
import { type Frontend, isExternal } from '../../netfilter/frontend.ts'
import type { ProxySettings } from './service-plans.ts'
import type { SetAsideService } from './set-aside.ts'

/** The node that explains, and the verdict for traffic without an endpoint here. */
export type RefusalSettings = Pick<ProxySettings, 'family' | 'nodeName' | 'noLocalEndpoints'>

/** Explains why a Service has no frontend in this family; undefined where it has one. */
export function whyNoFrontend(service: Service, family: IpFamily): string | undefined {
  if (service.type === 'ExternalName')
    return `it is of type ExternalName: its name leads to ${service.externalName ?? 'nothing'}, and no address is translated`
  if (service.headless) return 'it is headless: its name leads straight to the endpoints, and no address is translated'
  if (service.foreignProxy === true)
    return 'its label service-proxy-name or headless leaves it to another proxy or to none'
  if (service.ports.length === 0) return 'it has no port'
  if (!service.clusterIps.some((address) => address.includes(':') === (family === 'IPv6')))
    return `it has no cluster IP of ${family}`
  return undefined
}

/** Returns which connections to a port the rules refuse and why, one sentence each. */
export function explainRefusals(
  port: ServicePort,
  frontend: Frontend,
  slices: readonly EndpointSlice[],
  { family, nodeName, noLocalEndpoints = 'drop' }: RefusalSettings,
): readonly string[] {
  const { sourceRanges, externalPolicy, internalPolicy, localEndpoints, hasEndpoints } = frontend
  if (!hasEndpoints) return [`connections are refused: ${whyNoEndpoints(port, slices, family)}`]
  const isWithoutLocal = localEndpoints.length === 0
  const withoutEndpoint = `${noLocalEndpoints === 'drop' ? 'dropped' : 'refused'}: traffic policy Local, and no endpoint is on ${nodeName}`
  return [
    ...(internalPolicy === 'Local' && isWithoutLocal ? [`what goes to its cluster IP is ${withoutEndpoint}`] : []),
    ...(externalPolicy === 'Local' && isWithoutLocal && isExternal(frontend)
      ? [`what comes from outside is ${withoutEndpoint} (pods and this node itself reach all endpoints)`]
      : []),
    ...(sourceRanges === undefined
      ? []
      : [
          `its load balancer lets in ${sourceRanges.join(', ') || 'no source'} only (loadBalancerSourceRanges); others are dropped`,
        ]),
  ]
}

/** Explains why no endpoint answers for a port. */
function whyNoEndpoints(port: ServicePort, slices: readonly EndpointSlice[], family: IpFamily): string {
  if (slices.length === 0) return whyNoneAnswers(port, slices)
  const served = slices.filter((slice) => slice.namesOnly !== true)
  if (served.length === 0) return 'its EndpointSlices are labelled for another proxy, or as those of a headless Service'
  const ofFamily = served.filter((slice) => slice.family === family)
  if (ofFamily.length === 0) return `none of its EndpointSlices has addresses of ${family}`
  return whyNoneAnswers(port, ofFamily)
}

/** Describes the state of a Service whose rules the kernel refused, or that has too many. */
export function describeSetAside({ reason, sinceMs, attempts, retryAtMs }: SetAsideService): string {
  const since = `it is set aside since ${new Date(sinceMs).toISOString()} and keeps the rules it had`
  if (retryAtMs === undefined) return `${since}, until it changes: ${reason}`
  const next = new Date(retryAtMs).toISOString()
  return `${since}, as the kernel refuses its new ones (${attempts} attempts, next ${next}): ${reason}`
}
