import type { Frontend, FrontendEndpoint } from '../../netfilter/frontend.ts'

/** An endpoint that a frontend led to. */
export interface FrontendFlow {
  readonly frontend: Frontend
  readonly endpoint: FrontendEndpoint
}

/** The endpoints that `before` led to and `after` does not, those of removed frontends included. A port and its protocol identify a frontend. */
export function lostEndpoints(before: readonly Frontend[], after: readonly Frontend[]): readonly FrontendFlow[] {
  const kept = new Set(after.flatMap((frontend) => endpointsOf(frontend).map((each) => flowName(frontend, each))))
  return before.flatMap((frontend) =>
    endpointsOf(frontend)
      .filter((endpoint) => !kept.has(flowName(frontend, endpoint)))
      .map((endpoint) => ({ frontend, endpoint })),
  )
}

/** Every endpoint a packet may be sent to, for either traffic policy, once. */
function endpointsOf(frontend: Frontend): readonly FrontendEndpoint[] {
  const all = [...frontend.clusterEndpoints, ...frontend.localEndpoints]
  return [...new Map(all.map((endpoint) => [`${endpoint.address} ${endpoint.port}`, endpoint])).values()]
}

function flowName({ servicePort, protocol }: Frontend, { address, port }: FrontendEndpoint): string {
  return `${servicePort} ${protocol} ${address} ${port}`
}
