import type { Component, Health } from '../../loop/component.ts'
import type { IngressStatus } from '../../node/ingress/index.ts'
import type { PolicyPlane, PolicyStatus } from '../../node/policy/index.ts'
import type { ProxyStatus, ProxyView } from '../../node/proxy/index.ts'
import { type AppliedRevisions, formatProblem, type LiveNodeState } from '../../node/state/index.ts'
import type { ReloadReport } from '../live-options.ts'

/** Answer of `GET /status` on the control socket; `platnet status -o json` prints it. */
export interface AgentStatus {
  readonly kind: 'AgentStatus'
  readonly nodeName: string
  readonly components: Readonly<Record<string, Health>>
  readonly applied: ReturnType<AppliedRevisions['report']>
  /** One entry per address family; empty if the proxy is not among the components. */
  readonly proxy: readonly ProxyStatus[]
  /** Absent if policy is not among the components. */
  readonly policy?: PolicyStatus
  /** Absent if ingress is not among the components, and until the API server answers. */
  readonly ingress?: IngressStatus
  /** The outcome of the newest attempt to read the options again; absent if there was none. */
  readonly options?: ReloadReport
  /** One sentence for each part of an API object that this node cannot use. */
  readonly problems: readonly string[]
}

export interface StatusSources {
  readonly nodeName: string
  readonly components: readonly Component[]
  readonly state: LiveNodeState
  readonly applied: AppliedRevisions
  readonly proxy: readonly ProxyView[]
  readonly policy: Pick<PolicyPlane, 'status'> | undefined
  readonly ingress: IngressStatus | undefined
  readonly options: ReloadReport | undefined
  /** One sentence for each address or port that a Service claims and another one owns. */
  readonly refusedClaims: Iterable<string>
}

export function describeAgent({
  nodeName,
  components,
  state,
  applied,
  proxy,
  policy,
  ingress,
  options,
  refusedClaims,
}: StatusSources): AgentStatus {
  return {
    kind: 'AgentStatus',
    nodeName,
    components: Object.fromEntries(components.map((component) => [component.name, component.health()])),
    applied: applied.report(),
    proxy: proxy.map((view) => view.status()),
    ...(policy && { policy: policy.status() }),
    ...(ingress && { ingress }),
    ...(options && { options }),
    problems: [...Array.from(state.problems(), formatProblem), ...refusedClaims],
  }
}
