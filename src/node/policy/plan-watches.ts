import type { Labels, NetworkPolicy, PolicyRule } from '../../model/network-policy.ts'
import { matchesLabels } from '../../model/selector.ts'

/** The pods that a node must know beside its own. */
export type PodWatch =
  | { readonly kind: 'local' }
  /** Sorted. */
  | { readonly kind: 'namespaces'; readonly namespaces: readonly string[] }
  | { readonly kind: 'all' }

/** Each namespace costs a list and a watch of its own. */
const maxNamespaces = 32

/**
 * Tells which pods must be watched for the rules of these policies, the ones that select a pod of this node. Pods matter as peers, and as
 * destinations whose ports an egress rule names.
 */
export function planPodWatch(
  policies: Iterable<NetworkPolicy>,
  namespaces: Iterable<readonly [name: string, labels: Labels]>,
): PodWatch {
  const known = [...namespaces]
  const wanted = new Set<string>()
  for (const policy of policies) {
    for (const namespace of namespacesOf(policy, known)) {
      if (namespace === undefined) return { kind: 'all' }
      wanted.add(namespace)
    }
    if (wanted.size > maxNamespaces) return { kind: 'all' }
  }
  return wanted.size === 0 ? { kind: 'local' } : { kind: 'namespaces', namespaces: [...wanted].sort() }
}

/** Undefined stands for all namespaces. */
function* namespacesOf(
  { namespace, ingress = [], egress = [] }: NetworkPolicy,
  known: readonly (readonly [string, Labels])[],
): Iterable<string | undefined> {
  if (egress.some(namesPortsOfAll)) yield undefined
  for (const peer of [...ingress, ...egress].flatMap(({ peers = [] }) => peers)) {
    if (peer.kind !== 'pods') continue
    const { namespaces } = peer
    if (namespaces === undefined) yield namespace
    else if (namespaces.length === 0) yield undefined
    else yield* known.filter(([, labels]) => matchesLabels(namespaces, labels)).map(([name]) => name)
  }
}

function namesPortsOfAll({ peers, ports = [] }: PolicyRule): boolean {
  return peers === undefined && ports.some(({ kind }) => kind === 'name')
}
