/** `/registry/services/default/web`; cluster scope leaves the namespace out. */
export function storeKey(resource: { readonly plural: string }, namespace: string | undefined, name: string): string {
  return `${collectionPrefix(resource, namespace)}${name}`
}

/** The prefix of every key of a resource, in one namespace or in all. */
export function collectionPrefix(resource: { readonly plural: string }, namespace: string | undefined): string {
  return namespace === undefined ? `/registry/${resource.plural}/` : `/registry/${resource.plural}/${namespace}/`
}
