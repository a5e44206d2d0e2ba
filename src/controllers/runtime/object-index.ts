import type { Metadata } from './metadata.ts'
import { type CachedObject, keyOf } from './resource-type.ts'

/** An index that follows the objects of a cache. */
export interface CacheIndex<T> {
  /** Applies a change; only the cache calls it, before its change handlers. */
  change(old: T | undefined, next: T | undefined): void
}

/** Finds the objects of a cache by values that a function computes from them. */
export class ObjectIndex<T extends CachedObject> implements CacheIndex<T> {
  readonly #valuesOf: (object: T) => Iterable<string>
  readonly #buckets = new Map<string, Map<string, T>>()

  constructor(valuesOf: (object: T) => Iterable<string>) {
    this.#valuesOf = valuesOf
  }

  get(value: string): readonly T[] {
    return [...(this.#buckets.get(value)?.values() ?? [])]
  }

  count(value: string): number {
    return this.#buckets.get(value)?.size ?? 0
  }

  /** Returns the value with the fewest objects. */
  rarest(values: Iterable<string>): string | undefined {
    let rarest: { readonly value: string; readonly count: number } | undefined
    for (const value of values) {
      const count = this.count(value)
      if (rarest === undefined || count < rarest.count) rarest = { value, count }
    }
    return rarest?.value
  }

  change(old: T | undefined, next: T | undefined): void {
    if (old !== undefined) this.#remove(old)
    if (next !== undefined) this.#insert(next)
  }

  #remove(object: T): void {
    for (const value of this.#valuesOf(object)) {
      const bucket = this.#buckets.get(value)
      bucket?.delete(keyOf(object))
      if (bucket?.size === 0) this.#buckets.delete(value)
    }
  }

  #insert(object: T): void {
    for (const value of this.#valuesOf(object)) {
      const bucket = this.#buckets.get(value) ?? new Map<string, T>()
      bucket.set(keyOf(object), object)
      this.#buckets.set(value, bucket)
    }
  }
}

/** Returns the index values of an object's labels: one `namespace/key=value` per label. */
export function labelTerms({ metadata }: { readonly metadata: Metadata }): Iterable<string> {
  return Object.entries(metadata.labels).map(([key, value]) => labelTerm(metadata.namespace, key, value))
}

export function labelTerm(namespace: string | undefined, key: string, value: string): string {
  return `${namespace ?? ''}/${key}=${value}`
}
