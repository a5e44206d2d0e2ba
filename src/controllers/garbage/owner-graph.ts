import { isDeepStrictEqual } from 'node:util'
import type { ServedResource } from '../objects/served-resources.ts'
import type { Identity, OwnerReference } from '../runtime/metadata.ts'

/** An object of any kind, as an owner and as a dependent. */
export interface GraphNode {
  readonly resource: ServedResource
  readonly metadata: Identity
}

/** The graph of owners and dependents, by uid, over all watched resources. */
export class OwnerGraph {
  readonly #nodes = new Map<string, GraphNode>()
  /** The uids of dependents by the uid of their owner, present or absent. */
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

  /** Applies a change of an object and returns the uids that it may affect. */
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

/** Checks whether a change leaves owners and deletion state as they were, as most changes do. */
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

/** Checks whether the owner is in the dependent's namespace or is cluster-scoped; other references are invalid. */
export function isReachable(dependent: GraphNode, owner: GraphNode): boolean {
  return !owner.resource.namespaced || owner.metadata.namespace === dependent.metadata.namespace
}

export function blocks({ metadata }: GraphNode, owner: string): boolean {
  return metadata.ownerReferences.some(
    ({ uid, blockOwnerDeletion }: OwnerReference) => uid === owner && blockOwnerDeletion,
  )
}
