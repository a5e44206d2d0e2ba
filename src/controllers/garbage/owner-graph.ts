import { isDeepStrictEqual } from 'node:util'
import type { ServedResource } from '../objects/served-resources.ts'
import type { Identity, OwnerReference } from '../runtime/metadata.ts'

/** An object of any kind, seen as an owner and as what is owned. */
export interface GraphNode {
  readonly resource: ServedResource
  readonly metadata: Identity
}

/** Who owns whom, by uid, over all resources that are watched. */
export class OwnerGraph {
  readonly #nodes = new Map<string, GraphNode>()
  /** By owner, also by owners that are not there. */
  readonly #dependents = new Map<string, Set<string>>()

  get(uid: string): GraphNode | undefined {
    return this.#nodes.get(uid)
  }

  dependentsOf(uid: string): readonly GraphNode[] {
    return [...(this.#dependents.get(uid) ?? [])].flatMap((dependent) => this.#nodes.get(dependent) ?? [])
  }

  nodes(): Iterable<GraphNode> {
    return this.#nodes.values()
  }

  /** Takes an object as it was and as it is; answers the uids whose fate that may change. */
  change(old: GraphNode | undefined, next: GraphNode | undefined): readonly string[] {
    if (old !== undefined && next !== undefined && isSameFate(old, next)) {
      this.#nodes.set(next.metadata.uid, next)
      return []
    }
    const before = old === undefined ? [] : this.#remove(old)
    const after = next === undefined ? [] : this.#insert(next)
    const uid = (next ?? old)?.metadata.uid ?? ''
    const concernsDependents = next === undefined || next.metadata.deletionTimestamp !== undefined
    const dependents = concernsDependents ? [...(this.#dependents.get(uid) ?? [])] : []
    return [...new Set([uid, ...before, ...after, ...dependents])]
  }

  #insert(node: GraphNode): readonly string[] {
    const { uid } = node.metadata
    this.#nodes.set(uid, node)
    return ownerUids(node).map((owner) => {
      const dependents = this.#dependents.get(owner) ?? new Set()
      this.#dependents.set(owner, dependents.add(uid))
      return owner
    })
  }

  #remove(node: GraphNode): readonly string[] {
    const { uid } = node.metadata
    this.#nodes.delete(uid)
    return ownerUids(node).map((owner) => {
      const dependents = this.#dependents.get(owner)
      dependents?.delete(uid)
      if (dependents?.size === 0) this.#dependents.delete(owner)
      return owner
    })
  }
}

/** Most changes of an object are of what it says of itself: they concern neither its owners nor what it owns. */
function isSameFate({ metadata: old }: GraphNode, { metadata: next }: GraphNode): boolean {
  return (
    old.uid === next.uid &&
    old.deletionTimestamp === next.deletionTimestamp &&
    isDeepStrictEqual(old.finalizers, next.finalizers) &&
    isDeepStrictEqual(old.ownerReferences, next.ownerReferences)
  )
}

function ownerUids({ metadata }: GraphNode): readonly string[] {
  return metadata.ownerReferences.map(({ uid }) => uid)
}

/** An owner must stand in the namespace of what it owns, or in none. */
export function isReachable(dependent: GraphNode, owner: GraphNode): boolean {
  return !owner.resource.namespaced || owner.metadata.namespace === dependent.metadata.namespace
}

export function blocks({ metadata }: GraphNode, owner: string): boolean {
  return metadata.ownerReferences.some(
    ({ uid, blockOwnerDeletion }: OwnerReference) => uid === owner && blockOwnerDeletion,
  )
}
