import { applyMergePatch } from '../../src/api/patch/merge-patch.ts'
import { ApiClient, type Collection, type ObjectRef, type Patch } from '../../src/client/index.ts'
import type { ControllerContext } from '../../src/controllers/context.ts'
import {
  createDialectTypes,
  endpointsType,
  namespaceType,
  nodeType,
  podType,
  serviceType,
  volumeClaimType,
} from '../../src/controllers/objects/types.ts'
import { Caches } from '../../src/controllers/runtime/caches.ts'
import type { Controller } from '../../src/controllers/runtime/controller.ts'
import type { ResourceType } from '../../src/controllers/runtime/resource-type.ts'
import {
  controllerRevisionType,
  daemonSetType,
  deploymentType,
  replicaSetType,
  statefulSetType,
} from '../../src/controllers/workloads/types.ts'
import type { ApiObject, JsonObject } from '../../src/model/api-object.ts'
import { createDialect } from '../../src/model/dialect.ts'
import { silentLogger } from '../../src/observe/index.ts'
import { freshControllerMetrics } from './controllers.ts'
import type { AnyObject } from './simulated-cluster.ts'

const noServer = { server: 'https://127.0.0.1:1', skipTlsVerify: true }
const created = '2026-01-01T00:00:00Z'

/** Objects in memory under controllers: nothing leaves the process, caches follow each change in the next turn, and requests are counted. */
export class MemoryCluster extends ApiClient {
  readonly requests = new Map<string, number>()
  /** By controller how often it looked at a key. */
  readonly passes = new Map<string, number>()
  readonly context: ControllerContext
  readonly #types: ReadonlyMap<string, ResourceType>
  readonly #objects = new Map<string, AnyObject>()
  #version = 0

  constructor() {
    super(noServer as ConstructorParameters<typeof ApiClient>[0])
    const dialect = createDialect('kubernetes')
    const types = createDialectTypes(dialect)
    const core = [podType, nodeType, serviceType, endpointsType, namespaceType, volumeClaimType]
    const all = [...core, ...Object.values(types)]
    const workloads = [replicaSetType, deploymentType, statefulSetType, daemonSetType, controllerRevisionType]
    this.#types = new Map([...all, ...workloads].map((type) => [type.resource.resource, type as ResourceType]))
    const caches = new Caches({ client: this, log: silentLogger })
    const events = { record: () => this.#count('record event') }
    const metrics = {
      ...freshControllerMetrics(),
      countReconcile: (name: string) => void this.passes.set(name, (this.passes.get(name) ?? 0) + 1),
    }
    this.context = { client: this, caches, types, dialect, events, metrics, log: silentLogger }
  }

  /** The object as it was, with these fields merged into it; a new one where there is none. */
  put(resource: string, change: AnyObject): AnyObject {
    const { next, tell } = this.#store(resource, change)
    tell()
    return next
  }

  override create({ resource, namespace }: Collection, object: ApiObject): Promise<ApiObject> {
    const { generateName } = object.metadata as { generateName?: string }
    const name = object.metadata.name ?? `${generateName}${this.#version}`
    const metadata = { ...object.metadata, name, ...(namespace !== undefined && { namespace }) }
    return this.#write('create', resource.resource, { ...object, metadata })
  }

  override update({ resource }: ObjectRef, object: ApiObject): Promise<ApiObject> {
    return this.#write('update', resource.resource, object)
  }

  override patch({ resource, name, namespace, subresource }: ObjectRef, { patch }: Patch): Promise<ApiObject> {
    const { resourceVersion: _, ...metadata } = ((patch as JsonObject)['metadata'] ?? {}) as JsonObject
    const change = { ...patch, metadata: { ...metadata, name, ...(namespace !== undefined && { namespace }) } }
    return this.#write(subresource === undefined ? 'patch' : `patch ${subresource} of`, resource.resource, change)
  }

  override async createAt({ resource, name, namespace, subresource }: ObjectRef, object: ApiObject): Promise<void> {
    const { target } = object as AnyObject
    const change = { metadata: { name, namespace }, spec: { nodeName: target.name } }
    await this.#write(`create ${subresource} of`, resource.resource, change)
  }

  override async delete(ref: ObjectRef): Promise<void> {
    this.#count(`delete ${ref.resource.resource}`)
    const key = keyOf(ref)
    const old = this.#objects.get(key)
    if (old === undefined) return
    this.#objects.delete(key)
    this.#version += 1
    const last = { ...old, metadata: { ...old.metadata, resourceVersion: String(this.#version) } }
    setImmediate(() => this.#tell('DELETED', ref.resource.resource, last))
  }

  /** Answers at once; the watch tells of it in the next turn. */
  async #write(verb: string, resource: string, change: AnyObject): Promise<ApiObject> {
    this.#count(`${verb} ${resource}`)
    const { next, tell } = this.#store(resource, change)
    setImmediate(tell)
    return next
  }

  #store(resource: string, change: AnyObject): { readonly next: AnyObject; tell(): void } {
    const { name, namespace } = change.metadata
    const key = keyOf({ resource: { resource }, name, namespace })
    const old = this.#objects.get(key)
    const merged = applyMergePatch(old ?? { metadata: { uid: `uid of ${key}`, creationTimestamp: created } }, change)
    this.#version += 1
    const next = merged as AnyObject
    next.metadata = { ...next.metadata, resourceVersion: String(this.#version) }
    this.#objects.set(key, next)
    return { next, tell: () => this.#tell(old === undefined ? 'ADDED' : 'MODIFIED', resource, next) }
  }

  #tell(type: 'ADDED' | 'MODIFIED' | 'DELETED', resource: string, object: AnyObject): void {
    const known = this.#types.get(resource)
    if (known !== undefined) this.context.caches.of(known).onEvent(type, object, object.metadata.resourceVersion)
  }

  #count(request: string): void {
    this.requests.set(request, (this.requests.get(request) ?? 0) + 1)
  }
}

interface Key {
  readonly resource: { readonly resource: string }
  readonly name: string
  readonly namespace?: string | undefined
}

function keyOf({ resource, name, namespace }: Key): string {
  return `${resource.resource} ${namespace ?? ''}/${name}`
}

/** Until nothing waits, is worked on, or comes as the watch of a write. */
export async function settled(controllers: readonly Pick<Controller, 'isIdle'>[]): Promise<void> {
  for (let quiet = 0; quiet < 3; ) {
    await new Promise((resolve) => setImmediate(resolve))
    quiet = controllers.every(({ isIdle }) => isIdle) ? quiet + 1 : 0
  }
}
