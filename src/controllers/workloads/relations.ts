import { controllerOf } from '../objects/claim.ts'
import type { ControlledObject, Selector } from '../objects/parts.ts'
import { selects } from '../objects/selector.ts'
import type { ObjectCache } from '../runtime/object-cache.ts'
import { labelTerm, labelTerms, type ObjectIndex } from '../runtime/object-index.ts'
import { type CachedObject, keyOf, type ResourceType } from '../runtime/resource-type.ts'

interface SelectingObject extends CachedObject {
  readonly spec: { readonly selector: Selector }
}

/**
 * Finds the children of an owner, and orphans by labels, through indexes: claiming the children of one owner does not
 * scan those of others.
 */
export class Children<T extends CachedObject & ControlledObject> {
  readonly #byOwner: ObjectIndex<T>
  readonly #orphans: ObjectIndex<T>

  constructor(cache: ObjectCache<T>) {
    this.#byOwner = cache.addIndex(ownerUids)
    this.#orphans = cache.addIndex(orphanTerms)
  }

  ownedBy({ metadata }: { readonly metadata: { readonly uid: string } }): readonly T[] {
    return this.#byOwner.get(metadata.uid)
  }

  /** Returns the owner's children, and orphans that its selector may match. */
  candidatesFor(owner: SelectingObject): readonly T[] {
    const { namespace } = owner.metadata
    const terms = Object.entries(owner.spec.selector.matchLabels).map(([key, value]) =>
      labelTerm(namespace, key, value),
    )
    const rarest = this.#orphans.rarest(terms) ?? anyOrphan(namespace)
    const orphans = this.#orphans.get(rarest)
    return orphans.length === 0 ? this.ownedBy(owner) : [...this.ownedBy(owner), ...orphans]
  }
}

function ownerUids({ metadata }: ControlledObject): Iterable<string> {
  return metadata.ownerReferences.map(({ uid }) => uid)
}

function orphanTerms(object: ControlledObject): Iterable<string> {
  if (controllerOf(object) !== undefined) return []
  return [anyOrphan(object.metadata.namespace), ...labelTerms(object)]
}

function anyOrphan(namespace: string | undefined): string {
  return `${namespace ?? ''}/`
}

/**
 * Returns the owners that a change of a child concerns: its controller, or for an orphan all owners whose selector
 * matches.
 */
export function ownersOf<T extends SelectingObject>(
  type: ResourceType<T>,
  owners: ObjectCache<T>,
): (child: ControlledObject) => Iterable<string> {
  const bySelector = owners.addSelectorIndex(matchLabelsOf)
  return (child) => {
    const { namespace = '', labels } = child.metadata
    const controller = controllerOf(child)
    if (controller !== undefined) return controller.kind === type.kind ? [`${namespace}/${controller.name}`] : []
    const takers = bySelector.matching(namespace, labels).filter(({ spec }) => selects(spec.selector, labels))
    return takers.map((owner) => keyOf(owner))
  }
}

function matchLabelsOf({ spec }: SelectingObject): Readonly<Record<string, string>> {
  return spec.selector.matchLabels
}
