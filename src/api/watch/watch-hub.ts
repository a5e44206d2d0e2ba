import { randomInt } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { TimeSlice } from '../../loop/time-slice.ts'
import type { Logger } from '../../observe/index.ts'
import type { ListOptions } from '../decode/query.ts'
import { tableEventObject } from '../encode/answer.ts'
import { toMetadataText, typeMetaOf } from '../encode/partial-metadata.ts'
import type { Representation, TableView } from '../negotiate/accept.ts'
import type { Target } from '../request/request.ts'
import type { Resource } from '../resources/resource.ts'
import { parseStored, toWireText, withRevision } from '../resources/stored-text.ts'
import type { Claim } from '../shares/fair-share.ts'
import { expired, internalError, renderFailure, StatusError } from '../status.ts'
import {
  type Store,
  type StoredEntry,
  StoreError,
  type StoreEvent,
  type StoreWatch,
  type Topic,
} from '../store/index.ts'
import { type Aside, waitForRevision } from '../store/wait-for-revision.ts'
import { assertWatchRules } from '../verbs/list-rules.ts'
import { parseSelection, type Selection, selectionPrefix } from '../verbs/selection.ts'
import { type EventCount, EventCounts } from './event-counts.ts'
import { eventText, SharedEvent, type WatchEventType } from './shared-event.ts'
import { WatchLine } from './watch-line.ts'
import { WatchStream } from './watch-stream.ts'

const bookmarkIntervalMs = 60_000
/** The annotation that ends the initial events: client-go and the spec know it under this name in every dialect. */
const initialEventsEnd = { annotations: { 'k8s.io/initial-events-end': 'true' } }

export interface WatchRequest {
  readonly target: Target
  readonly options: ListOptions
  readonly representation: Representation
  /** The size of what the client has not read yet. */
  readonly unread: Claim
  readonly aside: Aside
}

interface Subscription {
  readonly resource: Resource
  readonly selection: Selection
  readonly prefix: string
  readonly after: number
}

/** Holds every open watch of a server and the data that they share. */
export class WatchHub {
  readonly eventCounts = new EventCounts()
  readonly #store: Store
  readonly #now: () => Date
  readonly #log: Logger
  /** The shared events by watched version, then by store event. */
  readonly #shared = new WeakMap<Resource, WeakMap<StoreEvent, SharedEvent>>()
  /** The topic functions by watched version, then by the field that its watches select by. */
  readonly #topics = new WeakMap<Resource, Map<string, Topic['of']>>()
  readonly #streams = new Set<WatchStream>()
  #isEnding = false

  constructor(store: Store, now: () => Date, log: Logger) {
    this.#store = store
    this.#now = now
    this.#log = log
  }

  /** Serves a watch until the client disconnects, its timeout passes or the server stops. Throws a Status only before the first byte. */
  async serve(request: WatchRequest, response: ServerResponse): Promise<void> {
    const { target, options } = request
    assertWatchRules(options)
    const selection = parseSelection(target.resource, options.labelSelector, options.fieldSelector)
    const prefix = selectionPrefix(target.resource, target.namespace, selection)
    const hasInitial = options.sendInitialEvents ?? !options.resourceVersion
    if (hasInitial) await waitForRevision(this.#store, options.resourceVersion, request.aside)
    // Another server may have given out a revision that this one has not seen yet.
    else if ((options.resourceVersion ?? 0) > this.#store.revision) await this.#store.catchUp()
    const initial = hasInitial ? await this.#store.range(prefix) : undefined
    const after = initial?.revision ?? (options.resourceVersion || this.#store.revision)
    const stream = this.#open(response, request)
    const writer = new EventWriter(stream, selection, request, this.#now, this.eventCounts.of(target.resource))
    const source = this.#subscribe({ resource: target.resource, selection, prefix, after }, stream, writer)
    if (source === undefined) return
    stream.onClose(() => source.close())
    this.#keepTime(options, stream, source, writer)
    const slice = new TimeSlice()
    for (const entry of initial?.entries ?? []) {
      await writer.writeInitial(entry)
      if (slice.spent) await slice.pause()
    }
    if (options.sendInitialEvents) await stream.sendInitial(writer.bookmark(after, initialEventsEnd))
    stream.goLive()
  }

  /** Ends all watches, those requested later included. */
  endAll(): void {
    this.#isEnding = true
    for (const stream of this.#streams) stream.end()
  }

  #open(response: ServerResponse, { target: { resource, namespace }, unread }: WatchRequest): WatchStream {
    const fields = { resource: resource.plural, namespace }
    const stream = new WatchStream(response, unread, () =>
      this.#log.warn('closed a watch whose client reads too slowly', fields),
    )
    this.#streams.add(stream)
    stream.onClose(() => this.#streams.delete(stream))
    stream.open()
    if (this.#isEnding) stream.end()
    return stream
  }

  /** Subscribes to the store; returns undefined when the history does not reach back, after an error event to the client. */
  #subscribe(
    { resource, selection, prefix, after }: Subscription,
    stream: WatchStream,
    writer: EventWriter,
  ): StoreWatch | undefined {
    try {
      const onEvents = (events: readonly StoreEvent[]) => {
        for (const event of events) writer.write(this.#share(resource, event))
        return stream.drained()
      }
      // The client gets a 410 when it watches again from its revision.
      const topic = this.#topicOf(resource, selection)
      return this.#store.watch(prefix, after, onEvents, { onBehind: () => stream.end(), ...(topic && { topic }) })
    } catch (thrown) {
      stream.goLive()
      stream.send(new WatchLine(eventText('ERROR', renderFailure(watchFailure(thrown, after, this.#store)))))
      stream.end()
      return undefined
    }
  }

  /**
   * Returns the topic of a watch. Watches of many agents differ in one value, such as the name of their node: an event
   * is compared only with watches for the value that its object has or had.
   */
  #topicOf(resource: Resource, { selectedValue }: Selection): Topic | undefined {
    if (selectedValue === undefined) return undefined
    const { place, read, value } = selectedValue
    const topics = this.#topics.get(resource) ?? new Map<string, Topic['of']>()
    this.#topics.set(resource, topics)
    const of = topics.get(place) ?? ((event) => this.#share(resource, event).valuesOf(read))
    topics.set(place, of)
    return { of, name: value }
  }

  #share(resource: Resource, event: StoreEvent): SharedEvent {
    const events = this.#shared.get(resource) ?? new WeakMap<StoreEvent, SharedEvent>()
    this.#shared.set(resource, events)
    const shared = events.get(event) ?? new SharedEvent(resource, event)
    events.set(event, shared)
    return shared
  }

  /** Sends bookmarks and ends the watch in time. A bookmark holds this watch's revision, which is behind the store's during a long replay. */
  #keepTime(options: ListOptions, stream: WatchStream, source: StoreWatch, writer: EventWriter): void {
    const bookmark = () => {
      if (options.allowWatchBookmarks) stream.send(new WatchLine(writer.bookmark(source.revision)))
    }
    const interval = setInterval(bookmark, bookmarkIntervalMs)
    const timeout = setTimeout(() => {
      bookmark()
      stream.end()
    }, timeoutMs(options))
    stream.onClose(() => {
      clearInterval(interval)
      clearTimeout(timeout)
    })
  }
}

/** Writes the events of one watch in the form that its client requested. */
class EventWriter {
  readonly #stream: WatchStream
  readonly #selection: Selection
  readonly #request: WatchRequest
  readonly #now: () => Date
  readonly #count: EventCount
  #isFirst = true

  constructor(stream: WatchStream, selection: Selection, request: WatchRequest, now: () => Date, count: EventCount) {
    this.#stream = stream
    this.#selection = selection
    this.#request = request
    this.#now = now
    this.#count = count
  }

  async writeInitial(entry: StoredEntry): Promise<void> {
    const { resource } = this.#request.target
    if (!this.#selection.isEverything && !this.#selection.matches(parseStored(resource, entry))) return
    this.#count.value++
    await this.#stream.sendInitial(eventText('ADDED', this.#initialText(entry)))
  }

  #initialText(entry: StoredEntry): string {
    const { target, representation } = this.#request
    const { view } = representation
    if (view.kind === 'table')
      return this.#tableText(withRevision(parseStored(target.resource, entry), entry.revision), view)
    const text = toWireText(target.resource, entry)
    return view.kind === 'metadata' ? toMetadataText(text, view.apiVersion) : text
  }

  write(event: SharedEvent): void {
    const type = event.typeFor(this.#selection)
    if (type === undefined) return
    this.#count.value++
    this.#stream.send(this.#line(type, event))
  }

  /** Returns a bookmark in the form that the client requested: an object that has a revision and nothing else. */
  bookmark(revision: number, metadata: object = {}): string {
    const { target, representation } = this.#request
    const { view } = representation
    const document = {
      ...typeMetaOf(target.resource, view),
      metadata: { resourceVersion: String(revision), ...metadata },
    }
    return eventText(
      'BOOKMARK',
      view.kind === 'table' ? this.#tableText(document, view, true) : JSON.stringify(document),
    )
  }

  #line(type: WatchEventType, event: SharedEvent): WatchLine {
    const { representation, options } = this.#request
    const { view } = representation
    if (view.kind === 'table') return new WatchLine(eventText(type, this.#tableText(event.documentFor(type), view)))
    return event.lineFor(type, view.kind === 'metadata' ? view.apiVersion : 'whole', options.sendTraceparents)
  }

  #tableText(document: ReturnType<SharedEvent['documentFor']>, view: TableView, isBookmark = false): string {
    const hasColumns = this.#isFirst
    this.#isFirst = false
    const { resource } = this.#request.target
    return JSON.stringify(tableEventObject(resource, document, { now: this.#now(), hasColumns, view, isBookmark }))
  }
}

/** Returns the failure of a watch. A future revision can only come from another store: the client must list again, as after a compaction. */
function watchFailure(thrown: unknown, after: number, store: Store): StatusError {
  if (thrown instanceof StoreError && thrown.code === 'compacted') return expired(after, store.compactRevision)
  if (thrown instanceof StoreError && thrown.code === 'future-revision') {
    return new StatusError('Expired', `resource version ${after} is newer than this server's ${store.revision}`)
  }
  return internalError('the watch could not be started', thrown)
}

/** Returns the timeout of a watch: without one from the client 30 to 60 minutes, spread so that watches do not all end at once. */
function timeoutMs({ timeoutSeconds }: ListOptions): number {
  const maxMs = 2 ** 31 - 1
  return timeoutSeconds ? Math.min(timeoutSeconds * 1000, maxMs) : randomInt(30 * 60_000, 60 * 60_000)
}
