import { ApiError } from '../../client/index.ts'
import type { Component } from '../../loop/component.ts'
import type { BaseContext } from '../base-context.ts'
import { namespaceType } from '../objects/types.ts'
import { Controller, watchKeys } from '../runtime/controller.ts'
import type { ObjectFields } from '../runtime/object-writer.ts'
import type { CachedObject, ResourceType } from '../runtime/resource-type.ts'

/** An object that each namespace has. */
export interface PerNamespaceObject<T extends CachedObject> {
  /** The name of the controller. */
  readonly controller: string
  readonly type: ResourceType<T>
  readonly name: string
  readonly fields: ObjectFields
  /** Checks whether an existing object needs no write. */
  readonly isAsWanted: (object: T) => boolean
}

/** Creates the object in every namespace, and restores it after a client deleted or changed it. Its keys are namespaces. */
export function createPerNamespaceController<T extends CachedObject>(
  { caches, metrics, log }: BaseContext,
  { controller, type, name, fields, isAsWanted }: PerNamespaceObject<T>,
): Component {
  const namespaces = caches.of(namespaceType)
  const objects = caches.of(type)
  const writer = caches.writer(type)
  const reconcile = async (namespaceName: string, { signal }: { signal: AbortSignal }) => {
    const namespace = namespaces.get(namespaceName)
    if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return undefined
    const found = objects.get(`${namespaceName}/${name}`)
    if (found !== undefined && isAsWanted(found)) return undefined
    const metadata = { name, namespace: namespaceName }
    try {
      if (found === undefined) await writer.create(metadata, fields, signal)
      else await writer.patch(found, { kind: 'merge', patch: fields }, signal)
    } catch (error) {
      // The namespace or the object is gone: an event of it follows.
      if (!(error instanceof ApiError && error.code === 'not-found')) throw error
    }
    return undefined
  }
  return new Controller({
    name: controller,
    watches: [
      watchKeys(namespaces, ({ metadata }) => [metadata.name]),
      watchKeys(objects, ({ metadata }) =>
        metadata.name === name && metadata.namespace !== undefined ? [metadata.namespace] : [],
      ),
    ],
    reconcile,
    metrics,
    log: log.child(controller),
  })
}
