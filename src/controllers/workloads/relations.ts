import { controllerOf } from '../objects/claim.ts'
import type { ControlledObject, Selector } from '../objects/parts.ts'
import { selects } from '../objects/selector.ts'
import type { ObjectCache } from '../runtime/object-cache.ts'
import type { ObjectIndex } from '../runtime/object-index.ts'
import { type CachedObject, keyOf, type ResourceType } from '../runtime/resource-type.ts'

interface SelectingObject extends CachedObject {
  readonly spec: { readonly selector: Selector }
}

/** The objects of one resource by namespace. */
export function indexByNamespace<T extends CachedObject>(cache: ObjectCache<T>): ObjectIndex<T> {
  return cache.addIndex(({ metadata }) => [metadata.namespace ?? ''])
}

/** Which owners a change of a child concerns: the one that controls it; for an orphan all that would take it. */
export function ownersOf<T extends SelectingObject>(
  type: ResourceType<T>,
  owners: ObjectIndex<T>,
): (child: ControlledObject) => Iterable<string> {
  return (child) => {
    const namespace = child.metadata.namespace ?? ''
    const controller = controllerOf(child)
    if (controller !== undefined) return controller.kind === type.kind ? [`${namespace}/${controller.name}`] : []
    const takers = owners.get(namespace).filter(({ spec }) => selects(spec.selector, child.metadata.labels))
    return takers.map((owner) => keyOf(owner))
  }
}
