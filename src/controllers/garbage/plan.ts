import type { JsonObject } from '../../model/api-object.ts'
import { nameOf, type Propagation, type Write } from '../objects/writes.ts'
import type { OwnerReference } from '../runtime/metadata.ts'
import { blocks, type GraphNode, isReachable, type OwnerGraph } from './owner-graph.ts'

/** The finalizer that keeps a deleted owner until its blocking dependents are gone. */
const foregroundFinalizer = 'foregroundDeletion'
/** The finalizer that keeps a deleted owner until no dependent refers to it. */
const orphanFinalizer = 'orphan'

export interface CollectionPlan {
  readonly writes: readonly Write[]
  /** The owners that the graph does not know: the collector asks the server before it decides. */
  readonly unknown: readonly OwnerReference[]
  /** The references to owners in another namespace; they count as absent. */
  readonly invalid: readonly OwnerReference[]
}

const nothing: CollectionPlan = { writes: [], unknown: [], invalid: [] }

/** Plans the collection of one object from its owners and dependents; `isAbsent` says which owners the server confirmed as absent. */
export function planCollection(node: GraphNode, graph: OwnerGraph, isAbsent: (uid: string) => boolean): CollectionPlan {
  const { deletionTimestamp, ownerReferences } = node.metadata
  if (deletionTimestamp !== undefined) return { ...nothing, writes: leavingWrites(node, graph) }
  return ownerReferences.length === 0 ? nothing : planDependent(node, graph, isAbsent)
}

function leavingWrites(node: GraphNode, graph: OwnerGraph): readonly Write[] {
  const { finalizers, uid } = node.metadata
  const dependents = () => graph.dependentsOf(uid).filter((dependent) => isReachable(dependent, node))
  if (finalizers.includes(orphanFinalizer)) return orphanWrites(node, dependents())
  return finalizers.includes(foregroundFinalizer) ? foregroundWrites(node, dependents()) : []
}

/** Removes the references first and the finalizer when none is left: after a crash in between, the next pass finishes. */
function orphanWrites(node: GraphNode, dependents: readonly GraphNode[]): readonly Write[] {
  if (dependents.length === 0) return [withoutFinalizer(node, orphanFinalizer)]
  const { uid } = node.metadata
  return dependents.map((dependent) => withoutOwners(dependent, (reference) => reference.uid === uid))
}

/** Deletes or releases the dependents of an owner in foreground deletion; the owner waits only for blocking ones. */
function foregroundWrites(node: GraphNode, dependents: readonly GraphNode[]): readonly Write[] {
  const { uid } = node.metadata
  const doomed = dependents.filter(({ metadata }) => metadata.deletionTimestamp === undefined && isSole(metadata, uid))
  const released = dependents.filter(
    ({ metadata }) => !isSole(metadata, uid) && metadata.deletionTimestamp === undefined,
  )
  const writes = [
    ...doomed.map((dependent) => deleteWrite(dependent, 'Foreground')),
    ...released.map((dependent) => withoutOwners(dependent, (reference) => reference.uid === uid)),
  ]
  const isBlocked = dependents.some((dependent) => blocks(dependent, uid) && isSole(dependent.metadata, uid))
  return isBlocked ? writes : [...writes, withoutFinalizer(node, foregroundFinalizer)]
}

function isSole({ ownerReferences }: GraphNode['metadata'], uid: string): boolean {
  return ownerReferences.every((reference) => reference.uid === uid)
}

/** Plans a dependent: one owner that stays keeps it; references to absent owners are removed. */
function planDependent(node: GraphNode, graph: OwnerGraph, isAbsent: (uid: string) => boolean): CollectionPlan {
  const { ownerReferences } = node.metadata
  const owners = ownerReferences.map((reference) => ({ reference, owner: graph.get(reference.uid) }))
  const invalid = owners.filter(({ owner }) => owner !== undefined && !isReachable(node, owner))
  const unknown = owners.filter(({ reference, owner }) => owner === undefined && !isAbsent(reference.uid))
  if (unknown.length > 0) return { ...nothing, unknown: unknown.map(({ reference }) => reference) }
  const isSolid = (uid: string) => {
    const owner = graph.get(uid)
    return owner !== undefined && isReachable(node, owner) && !isWaiting(owner)
  }
  const solid = ownerReferences.filter(({ uid }) => isSolid(uid))
  const isWaitedFor = owners.some(({ owner }) => owner !== undefined && isWaiting(owner) && isReachable(node, owner))
  return {
    writes: dependentWrites(node, solid, isWaitedFor),
    unknown: [],
    invalid: invalid.map(({ reference }) => reference),
  }
}

function dependentWrites(node: GraphNode, solid: readonly OwnerReference[], isWaitedFor: boolean): readonly Write[] {
  if (solid.length === node.metadata.ownerReferences.length) return []
  const kept = new Set(solid.map(({ uid }) => uid))
  if (solid.length > 0) return [withoutOwners(node, ({ uid }) => !kept.has(uid))]
  return [deleteWrite(node, isWaitedFor ? 'Foreground' : policyOf(node))]
}

function isWaiting({ metadata }: GraphNode): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.finalizers.includes(foregroundFinalizer)
}

/** Returns the propagation policy that the object's own finalizers ask for. */
function policyOf({ metadata }: GraphNode): Propagation {
  if (metadata.finalizers.includes(orphanFinalizer)) return 'Orphan'
  return metadata.finalizers.includes(foregroundFinalizer) ? 'Foreground' : 'Background'
}

function deleteWrite(node: GraphNode, propagation: Propagation): Write {
  return { verb: 'delete', target: nameOf(node.resource, node), uid: node.metadata.uid, propagation }
}

function withoutFinalizer(node: GraphNode, finalizer: string): Write {
  return metadataPatch(node, { finalizers: node.metadata.finalizers.filter((each) => each !== finalizer) })
}

function withoutOwners(node: GraphNode, isGone: (reference: OwnerReference) => boolean): Write {
  const kept = node.metadata.ownerReferences.filter((reference) => !isGone(reference))
  return metadataPatch(node, { ownerReferences: kept as unknown as readonly JsonObject[] })
}

/** Returns a patch for this resourceVersion only, so that a finalizer or reference added meanwhile is not lost. */
function metadataPatch(node: GraphNode, changes: JsonObject): Write {
  const { uid, resourceVersion } = node.metadata
  return {
    verb: 'patch',
    target: nameOf(node.resource, node),
    patch: { metadata: { uid, resourceVersion, ...changes } },
  }
}
