import {
  type ApiClient,
  type Collection,
  Informer,
  type InformerHandler,
  type InformerTiming,
  type ObjectIdentity,
  parseWireObject,
  type WireObject,
} from '../../client/index.ts'
import type { Component } from '../../loop/component.ts'
import { TimeSlice } from '../../loop/time-slice.ts'
import type { Dialect } from '../../model/dialect.ts'
import { describeError } from '../../model/errors.ts'
import type { Logger, TraceContext, Tracer } from '../../observe/index.ts'
import { type LiveNodeState, watchedResources } from './live-node-state.ts'
import type { WatchedResource } from './node-state.ts'
import { formatProblem } from './problem.ts'
import { keyOf, readObject, type StoredObject } from './stored-object.ts'
import { sameContent } from './tables.ts'

export interface StateSourceOptions {
  readonly client: ApiClient
  readonly dialect: Dialect
  readonly state: LiveNodeState
  readonly log: Logger
  /** Absent: changes are not traced. */
  readonly tracer?: Tracer
  readonly timing?: Partial<InformerTiming>
  /** Until then what was listed is read and not published: no plane has subscribed yet. Absent: at once. */
  readonly opened?: Promise<void>
}

/** The informers that keep the state in step with the API server, one a resource. */
export function createStateSources(options: StateSourceOptions): readonly Component[] {
  const { client, dialect, log, tracer, timing } = options
  return watchedResources.map((resource) => {
    const handler = new ResourceFeed(resource, options)
    const collection = collectionOf(resource, dialect)
    return new Informer({
      client,
      collection,
      content: 'unmanaged',
      handler,
      reduce: (json) => handler.readListed(json),
      log: log.child(resource),
      tracer,
      ...(timing !== undefined && { timing }),
    })
  })
}

function collectionOf(resource: WatchedResource, dialect: Dialect): Collection {
  const group = resource === 'endpointslices' ? dialect.groups.discovery : ''
  return { resource: { group, version: 'v1', resource } }
}

/** Stands for an object of a list that was read as soon as it had come. */
class ListedObject {
  readonly metadata: WireObject['metadata']
  readonly stored: StoredObject
  readonly [field: string]: unknown

  constructor({ name, namespace, uid, resourceVersion }: WireObject['metadata'], stored: StoredObject) {
    this.metadata = { name, namespace, uid, resourceVersion }
    this.stored = stored
  }
}

/** Parses what one informer hands over and writes it to the state. */
class ResourceFeed implements InformerHandler {
  readonly #resource: WatchedResource
  readonly #options: StateSourceOptions
  /** Whether a version that stands in the state may have another content by now. */
  #isRestored = false

  constructor(resource: WatchedResource, options: StateSourceOptions) {
    this.#resource = resource
    this.#options = options
  }

  async onReplace(
    items: readonly WireObject[],
    resourceVersion: string,
    leftOut: readonly ObjectIdentity[],
  ): Promise<void> {
    const objects: StoredObject[] = leftOut
      .map((identity) => this.#options.state.stored(this.#resource, keyOf({ metadata: identity })))
      .filter((stored) => stored !== undefined)
    const slice = new TimeSlice()
    for (const item of items) {
      const object = item instanceof ListedObject ? item.stored : this.#prepareOrStored(item)
      if (object !== undefined) objects.push(object)
      if (slice.spent) await slice.pause()
    }
    await this.#options.opened
    this.#options.state.replace(this.#resource, objects, resourceVersion)
    this.#isRestored = false
  }

  onRestored(): void {
    this.#isRestored = true
  }

  /** Returns the JSON itself where it cannot be read: `onReplace` decides about it. */
  readListed(json: unknown): unknown {
    const parsed = parseWireObject(json)
    if (parsed.kind === 'unsound') return json
    try {
      return new ListedObject(parsed.object.metadata, this.#prepare(parsed.object))
    } catch {
      return json
    }
  }

  onEvent(
    type: 'ADDED' | 'MODIFIED' | 'DELETED',
    object: WireObject,
    resourceVersion: string,
    trace?: TraceContext,
  ): void {
    const { state } = this.#options
    if (type === 'DELETED') state.remove(this.#resource, keyOf(object), resourceVersion, trace)
    else state.upsert(this.#resource, this.#read(object), trace)
  }

  onProgress(resourceVersion: string): void {
    this.#options.state.progress(this.#resource, resourceVersion)
  }

  /** Keeps the known version of an object that cannot be read, so that it does not keep the others out. */
  #prepareOrStored(item: WireObject): StoredObject | undefined {
    const { state } = this.#options
    try {
      return this.#prepare(item)
    } catch (error) {
      const { namespace, name } = item.metadata
      this.#options.log.warn('an object could not be put into the cache', {
        namespace,
        name,
        error: describeError(error),
      })
      return state.stored(this.#resource, keyOf(item))
    }
  }

  #prepare(object: WireObject): StoredObject {
    const read = this.#read(object)
    this.#options.state.prepare(this.#resource, [read])
    return read
  }

  /** A version that stands in the state already is not parsed, and not complained about, again. */
  #read(object: WireObject): StoredObject {
    const { state, dialect, log } = this.#options
    const { uid, resourceVersion } = object.metadata
    const key = keyOf(object)
    const stored = state.stored(this.#resource, key)
    const isKnown = stored?.resourceVersion === resourceVersion && stored.uid === uid
    if (isKnown && !this.#isRestored) return stored
    const read = readObject(this.#resource, object, dialect, key)
    // In slices now, as `replace` compares all objects of a list in one go.
    if (stored !== undefined) sameContent(stored, read)
    for (const problem of read.problems) log.warn(formatProblem(problem), { resourceVersion, ...problem })
    return read
  }
}
