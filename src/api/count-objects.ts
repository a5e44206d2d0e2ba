import { collectionPrefix } from './resources/keys.ts'
import type { Registry } from './resources/registry.ts'
import type { Store } from './store/index.ts'

interface ObjectCount {
  /** The resource, with its group where it has one: `pods`, `ingresses.networking.k8s.io`. */
  readonly resource: string
  readonly count: number
}

/** Counts the stored objects of each resource; versions and groups that share objects count once, under the first. */
export async function countObjects(store: Store, registry: Registry): Promise<readonly ObjectCount[]> {
  const stored = registry.all().filter(({ review, computed }) => review === undefined && computed === undefined)
  const names = new Map(
    stored.toReversed().map((resource) => {
      const { plural, group } = resource
      return [collectionPrefix(resource, undefined), group === '' ? plural : `${plural}.${group}`] as const
    }),
  )
  return Promise.all([...names].map(async ([prefix, resource]) => ({ resource, count: await store.count(prefix) })))
}
