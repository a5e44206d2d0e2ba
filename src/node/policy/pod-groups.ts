import type { ObjectKey } from '../../model/api-object.ts'
import { ipFamily } from '../../model/ip.ts'
import type { NetworkPolicy, PolicyPod } from '../../model/network-policy.ts'
import { labelValue } from '../../model/selector.ts'
import { BlockMembership, blocksOf } from './address-spans.ts'
import { addressValue } from './compiled-policy.ts'

/** Pods of one namespace that no rule tells apart: the labels that selectors name, the ports and the ipBlocks are equal. */
export interface PodGroup {
  readonly namespace: string
  /** Sorted by key; at least one. */
  readonly pods: readonly PolicyPod[]
}

/** Groups pods by what the policies can see of them, sorted by the first key of each group. */
export function groupPods(policies: readonly NetworkPolicy[], pods: Iterable<PolicyPod>): readonly PodGroup[] {
  const keys = namedLabels(policies)
  const membership = new BlockMembership(blocksOf(policies, 'ingress', 'egress'))
  const sorted = Array.from(pods).sort((a, b) => compareKeys(a.key, b.key))
  const groups = Map.groupBy(sorted, (pod) => signature(pod, keys, membership))
  return [...groups.values()].map((members) => ({ namespace: members[0]?.namespace ?? '', pods: members }))
}

function signature(pod: PolicyPod, keys: readonly string[], membership: BlockMembership): string {
  const blocks = pod.ips.map((ip) => [ipFamily(ip), membership.nameOf(addressValue(ip), ipFamily(ip))])
  const ports = pod.ports.map(({ name, protocol, port }) => `${name}/${protocol}/${port}`).sort()
  const labels = keys.map((key) => labelValue(pod.labels, key) ?? null)
  return JSON.stringify([pod.namespace, labels, ports, blocks.sort(), pod.isUnknown === true])
}

/** The keys of labels that any selector of pods names. */
function namedLabels(policies: readonly NetworkPolicy[]): readonly string[] {
  const selectors = policies.flatMap(({ podSelector, ingress = [], egress = [] }) => {
    const peers = [...ingress, ...egress].flatMap((rule) => rule.peers ?? [])
    return [podSelector, ...peers.flatMap((peer) => (peer.kind === 'pods' ? [peer.pods] : []))]
  })
  return [...new Set(selectors.flatMap((selector) => selector.map(({ key }) => key)))].sort()
}

export function compareKeys(one: ObjectKey, other: ObjectKey): number {
  return one < other ? -1 : one > other ? 1 : 0
}
