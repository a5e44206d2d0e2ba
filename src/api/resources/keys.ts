/** The parts of a resource that determine the store keys of its objects. */
export interface Keyed {
  readonly plural: string
  readonly storage?: { readonly prefix: string }
}

/** Returns the key of an object: `/registry/services/default/web`, without the namespace for cluster scope. */
export function storeKey(resource: Keyed, namespace: string | undefined, name: string): string {
  return `${collectionPrefix(resource, namespace)}${name}`
}

/** Returns the prefix of all keys of a resource, in one namespace or in all. */
export function collectionPrefix({ plural, storage }: Keyed, namespace: string | undefined): string {
  const collection = `/registry/${storage?.prefix ?? plural}/`
  return namespace === undefined ? collection : `${collection}${namespace}/`
}
