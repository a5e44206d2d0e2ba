import type { JsonObject } from '../../model/api-object.ts'
import { matchesLabels } from '../../model/selector.ts'
import type { Metadata, OwnerReference } from '../runtime/metadata.ts'
import type { ControlledObject, Selector } from './parts.ts'
import { requirementsOf } from './selector.ts'
import { nameOf, type ResourceName, type Write } from './writes.ts'

/** An object that controls others, with the apiVersion and kind for their owner references. */
export interface Owner extends ControlledObject {
  readonly apiVersion: string
  readonly kind: string
}

export interface Claim<Child> {
  /** The objects that the owner controls, including newly adopted ones. */
  readonly mine: readonly Child[]
  /** The patches that adopt and release objects. */
  readonly writes: readonly Write[]
}

export function controllerOf({ metadata }: ControlledObject): OwnerReference | undefined {
  return metadata.ownerReferences.find(({ controller }) => controller)
}

/** Checks whether an object has an owner: an earlier one of its name has another uid. */
export function isOwnedBy(
  { metadata }: ControlledObject,
  owner: { readonly metadata: { readonly uid: string } },
): boolean {
  return metadata.ownerReferences.some(({ uid }) => uid === owner.metadata.uid)
}

/**
 * Returns which of the candidates in the owner's namespace belong to the owner. The owner adopts orphans that match its
 * selector, and releases objects that match no longer. Objects of other owners are left alone. An owner that is being
 * deleted adopts nothing.
 */
export function claimChildren<Child extends ControlledObject>(
  owner: Owner,
  selector: Selector,
  resource: ResourceName,
  candidates: readonly Child[],
): Claim<Child> {
  const mine: Child[] = []
  const writes: Write[] = []
  const isLeaving = owner.metadata.deletionTimestamp !== undefined
  const requirements = requirementsOf(selector)
  for (const child of candidates) {
    const matches = matchesLabels(requirements, child.metadata.labels)
    const controller = controllerOf(child)
    if (controller?.uid === owner.metadata.uid) {
      if (matches) mine.push(child)
      else if (!isLeaving) writes.push(reownWrite(resource, child, withoutOwner(child.metadata, owner)))
    } else if (controller === undefined && matches && !isLeaving && child.metadata.deletionTimestamp === undefined) {
      mine.push(child)
      writes.push(reownWrite(resource, child, [...child.metadata.ownerReferences, controllerReference(owner)]))
    }
  }
  return { mine, writes }
}

/** Returns the owner reference that makes `owner` the controller of an object. */
export function controllerReference({ apiVersion, kind, metadata }: Owner): OwnerReference {
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true, blockOwnerDeletion: true }
}

function withoutOwner({ ownerReferences }: Metadata, owner: Owner): readonly OwnerReference[] {
  return ownerReferences.filter(({ uid }) => uid !== owner.metadata.uid)
}

/** Returns the patch that replaces the owners of an object, of exactly the version that they were planned from. */
export function reownWrite(
  resource: ResourceName,
  child: ControlledObject,
  references: readonly OwnerReference[],
): Write {
  const { uid, resourceVersion } = child.metadata
  const ownerReferences = references.map((reference): JsonObject => ({ ...(reference as unknown as JsonObject) }))
  return {
    verb: 'patch',
    target: nameOf(resource, child),
    patch: { metadata: { uid, resourceVersion, ownerReferences } },
  }
}
