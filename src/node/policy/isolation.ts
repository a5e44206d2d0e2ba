import type { ClusterState } from './cluster-state.ts'

/** Pods of this node by the direction that they are isolated in; `unknown`: the network is announced, the object is not known. */
export interface IsolatedPods {
  readonly ingress: number
  readonly egress: number
  readonly unknown: number
}

/** Counts the pods of this node; the cost follows them and the policies that select them. */
export function countIsolated(state: ClusterState): IsolatedPods {
  const counts = { ingress: 0, egress: 0, unknown: 0 }
  for (const { key, isUnknown } of state.localPods()) {
    if (state.isolating(key, 'ingress').length > 0) counts.ingress += 1
    if (state.isolating(key, 'egress').length > 0) counts.egress += 1
    if (isUnknown) counts.unknown += 1
  }
  return counts
}
