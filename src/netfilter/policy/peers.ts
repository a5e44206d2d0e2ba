import type { IpBlock, PodPeer, PolicyPeer } from '../../model/network-policy.ts'
import type { LabelRequirement, LabelSelector } from '../../model/selector.ts'

/** Pods of one namespace, or of the namespaces with some labels. */
export type PodSelection =
  | { readonly namespace: string; readonly pods: LabelSelector }
  | { readonly namespaces: LabelSelector; readonly pods: LabelSelector }

/** The peers of a rule, so that two rules of equal peers give equal lists whatever their policies. */
export interface PeerList {
  readonly pods: readonly PodSelection[]
  readonly blocks: readonly IpBlock[]
}

/** Orders the peers of a rule and names the namespace of those that leave it out. */
export function canonicalPeers(peers: readonly PolicyPeer[], policyNamespace: string): PeerList {
  return {
    pods: distinct(peers.filter((peer) => peer.kind === 'pods').map((peer) => selectionOf(peer, policyNamespace))),
    blocks: distinct(
      peers
        .filter((peer) => peer.kind === 'ip-block')
        .map(({ kind, cidr, except }) => ({ kind, cidr, except: except.toSorted() })),
    ),
  }
}

function selectionOf({ namespaces, pods }: PodPeer, policyNamespace: string): PodSelection {
  return namespaces === undefined
    ? { namespace: policyNamespace, pods: canonicalSelector(pods) }
    : { namespaces: canonicalSelector(namespaces), pods: canonicalSelector(pods) }
}

function canonicalSelector(selector: LabelSelector): LabelSelector {
  return distinct(
    selector.map(({ key, operator, values }): LabelRequirement => ({ key, operator, values: values.toSorted() })),
  )
}

/** In the order of their text. */
function distinct<Item>(items: readonly Item[]): readonly Item[] {
  const byText = new Map(items.map((item) => [JSON.stringify(item), item]))
  return [...byText].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => item)
}
