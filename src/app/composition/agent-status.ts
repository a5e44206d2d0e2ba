import type { Component, Health } from '../../loop/component.ts'
import type { ProxyPlane, ProxyStatus } from '../../node/proxy/index.ts'
import { type AppliedRevisions, formatProblem, type LiveNodeState } from '../../node/state/index.ts'

/** The answer of `GET /status` on the control socket, and what `platnet status -o json` prints. */
export interface AgentStatus {
  readonly kind: 'AgentStatus'
  readonly nodeName: string
  readonly components: Readonly<Record<string, Health>>
  readonly applied: ReturnType<AppliedRevisions['report']>
  /** One a family; none where the proxy is not among the components. */
  readonly proxy: readonly ProxyStatus[]
  /** What in the objects of the API this node cannot use, one sentence each. */
  readonly problems: readonly string[]
}

export interface StatusSources {
  readonly nodeName: string
  readonly components: readonly Component[]
  readonly state: LiveNodeState
  readonly applied: AppliedRevisions
  readonly proxy: readonly ProxyPlane[]
  /** What Services claim and is another's, one sentence each. */
  readonly refusedClaims: Iterable<string>
}

export function describeAgent({
  nodeName,
  components,
  state,
  applied,
  proxy,
  refusedClaims,
}: StatusSources): AgentStatus {
  return {
    kind: 'AgentStatus',
    nodeName,
    components: Object.fromEntries(components.map((component) => [component.name, component.health()])),
    applied: applied.report(),
    proxy: proxy.map((plane) => plane.status()),
    problems: [...Array.from(state.problems(), formatProblem), ...refusedClaims],
  }
}
