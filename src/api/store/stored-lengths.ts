import type { StoreEvent } from './store-entries.ts'

/** The memory that an object costs beside its text. */
const overhead = 1024

/** Counts the size of the store in characters, with an overhead for each object: in total and per namespace. */
export class StoredLengths {
  readonly #ofNamespace = new Map<string, number>()
  #total = 0

  get total(): number {
    return this.#total
  }

  ofNamespace(namespace: string): number {
    return this.#ofNamespace.get(namespace) ?? 0
  }

  apply(event: StoreEvent): void {
    const before = event.previous === undefined ? 0 : storedLength(event.previous.value)
    const growth = (event.kind === 'put' ? storedLength(event.entry.value) : 0) - before
    this.#total += growth
    const namespace = namespaceOf(event.kind === 'put' ? event.entry.key : event.key)
    if (namespace === undefined) return
    const length = this.ofNamespace(namespace) + growth
    if (length > 0) this.#ofNamespace.set(namespace, length)
    else this.#ofNamespace.delete(namespace)
  }
}

export function storedLength(value: string): number {
  return value.length + overhead
}

/**
 * Returns the namespace of `/registry/<resource>/<namespace>/<name>`, also where a group, which has a dot, precedes the resource; undefined
 * for cluster scope.
 */
function namespaceOf(key: string): string | undefined {
  const resource = key.indexOf('/', 1) + 1
  const first = key.indexOf('/', resource) + 1
  const isGrouped = first !== 0 && key.slice(resource, first).includes('.')
  const namespace = isGrouped ? key.indexOf('/', first) + 1 : first
  const name = namespace === 0 ? 0 : key.indexOf('/', namespace) + 1
  return name === 0 || key.includes('/', name) ? undefined : key.slice(namespace, name - 1)
}
