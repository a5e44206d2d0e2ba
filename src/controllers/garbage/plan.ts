import type { JsonObject } from '../../model/api-object.ts'
import { nameOf, type Propagation, type Write } from '../objects/writes.ts'
import type { OwnerReference } from '../runtime/metadata.ts'
import { blocks, type GraphNode, isReachable, type OwnerGraph } from './owner-graph.ts'

/** Keeps a deleted owner until what blocks it is gone. */
const foregroundFinalizer = 'foregroundDeletion'
/** Keeps a deleted owner until its dependents are free of it. */
const orphanFinalizer = 'orphan'

export interface CollectionPlan {
  readonly writes: readonly Write[]
  /** Owners that the graph does not know: asked of the server before anything is decided. */
  readonly unknown: readonly OwnerReference[]
  /** References to owners in another namespace; they count as absent. */
  readonly invalid: readonly OwnerReference[]
}

const nothing: CollectionPlan = { writes: [], unknown: [], invalid: [] }

/** What becomes of one object, from its owners and dependents; `isAbsent` says which owners the server has been asked for and does not have. */
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

/** The references go first, the finalizer when none is left: a crash in between is mended by the next pass. */
function orphanWrites(node: GraphNode, dependents: readonly GraphNode[]): readonly Write[] {
  if (dependents.length === 0) return [withoutFinalizer(node, orphanFinalizer)]
  const { uid } = node.metadata
  return dependents.map((dependent) => withoutOwners(dependent, (reference) => reference.uid === uid))
}

/** Those that do not block are only asked to go. */
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

/** One owner that stays keeps the object; references to those that are gone are taken away. */
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

/** What was asked of the object itself before holds for it. */
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

/** Only on that very version, so that a finalizer or reference that came meanwhile is not lost. */
function metadataPatch(node: GraphNode, changes: JsonObject): Write {
  const { uid, resourceVersion } = node.metadata
  return {
    verb: 'patch',
    target: nameOf(node.resource, node),
    patch: { metadata: { uid, resourceVersion, ...changes } },
  }
}
