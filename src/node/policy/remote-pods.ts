import type { NetworkPolicy } from '../../model/network-policy.ts'
import { matchesLabels } from '../../model/selector.ts'
import type { ClusterState } from './cluster-state.ts'
import { planPodWatch } from './plan-watches.ts'
import type { RemotePods } from './watches.ts'

/** Finds the namespaces whose pods on other nodes this node must know, by the policies that select one of its own pods. */
export function findRemotePods(state: ClusterState): RemotePods {
  const watch = planPodWatch(selectingPolicies(state), state.namespaces())
  if (watch.kind === 'all') return 'all'
  return new Set(watch.kind === 'local' ? [] : watch.namespaces)
}

function* selectingPolicies(state: ClusterState): Iterable<NetworkPolicy> {
  const local = Map.groupBy(state.localPods(), ({ namespace }) => namespace)
  for (const policy of state.policies()) {
    const pods = local.get(policy.namespace) ?? []
    if (pods.some(({ labels }) => matchesLabels(policy.podSelector, labels))) yield policy
  }
}
