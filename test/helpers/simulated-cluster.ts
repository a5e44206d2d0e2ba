import { applyMergePatch } from '../../src/api/patch/merge-patch.ts'
import type { ObjectName, ResourceName, Write } from '../../src/controllers/objects/writes.ts'
import type { Json, JsonObject } from '../../src/model/api-object.ts'

// biome-ignore lint/suspicious/noExplicitAny: a test looks into any object
export type AnyObject = any

/** The objects of a cluster in memory, with the little of an API server that plans rely on: names, uids, versions, generations. */
export class SimulatedCluster {
  readonly #objects = new Map<string, JsonObject>()
  #version = 0
  nowMs = Date.parse('2026-01-01T00:00:00Z')

  /** Grows with each write. */
  get version(): number {
    return this.#version
  }

  add(resource: string, object: AnyObject): AnyObject {
    this.#version += 1
    const { name, generateName, namespace } = object.metadata
    const metadata = {
      ...object.metadata,
      name: name ?? `${generateName}${this.#version}`,
      uid: object.metadata.uid ?? `uid-${this.#version}`,
      resourceVersion: String(this.#version),
      generation: 1,
      creationTimestamp: new Date(this.nowMs).toISOString(),
    }
    const stored = { ...object, metadata }
    const key = keyOf(resource, namespace, metadata.name)
    if (this.#objects.has(key)) throw new Error(`${key} exists already`)
    this.#objects.set(key, stored)
    return stored
  }

  list<T>(resource: string, parse: (object: unknown) => T): T[] {
    const found = [...this.#objects].filter(([key]) => key.startsWith(`${resource}/`))
    return found.map(([, object]) => parse(object))
  }

  /** By pod the image of its first container, which controllers do not look at. */
  podImages(): Readonly<Record<string, string | undefined>> {
    const pods = this.list('pods', (object) => object as AnyObject)
    return Object.fromEntries(pods.map(({ metadata, spec }) => [metadata.name, spec.containers[0]?.image]))
  }

  /** Merges into an object; a change of its spec counts its generation up. */
  patch(resource: string, namespace: string, name: string, patch: AnyObject): void {
    this.#revise(keyOf(resource, namespace, name), patch)
  }

  remove(resource: string, namespace: string, name: string): void {
    this.#delete(keyOf(resource, namespace, name))
  }

  apply(writes: readonly Write[]): void {
    for (const write of writes) this.#applyOne(write)
  }

  #applyOne(write: Write): void {
    if (write.verb === 'create') this.add(write.resource.resource, write.object)
    else if (write.verb === 'delete') this.#delete(keyOfTarget(write.target))
    else this.#revise(keyOfTarget(write.target), withoutGuards(write.patch))
  }

  #delete(key: string): void {
    this.#version += 1
    this.#objects.delete(key)
  }

  #revise(key: string, patch: JsonObject): void {
    const old = this.#objects.get(key)
    if (old === undefined) return
    const next = applyMergePatch(old, patch) as AnyObject
    const isSpecChanged = JSON.stringify(next.spec) !== JSON.stringify(old['spec'])
    this.#version += 1
    const generation = next.metadata.generation + (isSpecChanged ? 1 : 0)
    this.#objects.set(key, {
      ...next,
      metadata: { ...next.metadata, resourceVersion: String(this.#version), generation },
    })
  }
}

/** A pod that runs and is ready since `nowMs`. */
export function readyStatus(nowMs: number): JsonObject {
  const condition: Json = { type: 'Ready', status: 'True', lastTransitionTime: new Date(nowMs).toISOString() }
  return { phase: 'Running', conditions: [condition] }
}

function withoutGuards(patch: JsonObject): JsonObject {
  const { uid: _uid, resourceVersion: _version, ...metadata } = (patch['metadata'] ?? {}) as JsonObject
  return { ...patch, metadata }
}

function keyOfTarget({ resource, namespace, name }: ObjectName): string {
  return keyOf(resource.resource, namespace, name)
}

function keyOf(resource: ResourceName['resource'], namespace: string | undefined, name: string): string {
  return `${resource}/${namespace ?? ''}/${name}`
}
