import type { ApiDocument } from '../document.ts'
import { toMetadataText } from '../encode/partial-metadata.ts'
import type { MetaVersion } from '../negotiate/accept.ts'
import type { Resource } from '../resources/resource.ts'
import { parseStored, toWireText, withRevision } from '../resources/stored-text.ts'
import type { StoreEvent } from '../store/index.ts'
import type { Selection } from '../verbs/selection.ts'
import { WatchLine } from './watch-line.ts'

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED'

/** The forms of a line: the whole object, or its metadata in one of the versions. */
type LineForm = 'whole' | MetaVersion

/** One change of the store, shared by all watchers: parsed at most once and encoded at most once per event type and form. */
export class SharedEvent {
  readonly #resource: Resource
  readonly #event: StoreEvent
  readonly #lines = new Map<`${WatchEventType} ${'' | 'traced '}${LineForm}`, WatchLine>()
  #current: ApiDocument | undefined
  #previous: ApiDocument | undefined

  constructor(resource: Resource, event: StoreEvent) {
    this.#resource = resource
    this.#event = event
  }

  get revision(): number {
    return this.#event.kind === 'put' ? this.#event.entry.revision : this.#event.revision
  }

  /** Returns the event type for a watcher with that selection: DELETED when the object stops matching, ADDED when it begins to match. */
  typeFor(selection: Selection): WatchEventType | undefined {
    const { previous } = this.#event
    const isThere = this.#event.kind === 'put'
    if (selection.isEverything) return isThere ? (previous === undefined ? 'ADDED' : 'MODIFIED') : 'DELETED'
    const matchesNow = isThere && selection.matches(this.documentFor('MODIFIED'))
    const matchedBefore = previous !== undefined && selection.matches(this.documentFor('DELETED'))
    if (matchesNow) return matchedBefore ? 'MODIFIED' : 'ADDED'
    return matchedBefore ? 'DELETED' : undefined
  }

  /** Returns the values of the object after and before the change. */
  valuesOf(read: (document: ApiDocument) => string | undefined): readonly string[] {
    const next = this.#event.kind === 'put' ? [read(this.documentFor('MODIFIED'))] : []
    const old = this.#event.previous === undefined ? [] : [read(this.documentFor('DELETED'))]
    return [...next, ...old].filter((value) => value !== undefined)
  }

  /** Returns the document of the event: for DELETED the last content, with the revision of the change. */
  documentFor(type: WatchEventType): ApiDocument {
    const made = type === 'DELETED' ? this.#previous : this.#current
    if (made !== undefined) return made
    const document = withRevision(parseStored(this.#resource, { value: this.#valueFor(type) }), this.revision)
    if (type === 'DELETED') this.#previous = document
    else this.#current = document
    return document
  }

  /** Returns the line; with the traceparent of the change, if it has one, where the watcher asked for it. */
  lineFor(type: WatchEventType, form: LineForm = 'whole', wantsTraceparent = false): WatchLine {
    const traceparent = wantsTraceparent ? this.#event.traceparent : undefined
    const key = `${type} ${traceparent === undefined ? '' : 'traced '}${form}` as const
    const made = this.#lines.get(key)
    if (made !== undefined) return made
    const text = toWireText(this.#resource, { value: this.#valueFor(type), revision: this.revision })
    const line = new WatchLine(eventText(type, form === 'whole' ? text : toMetadataText(text, form), traceparent))
    this.#lines.set(key, line)
    return line
  }

  #valueFor(type: WatchEventType): string {
    const event = this.#event
    if (event.kind === 'put' && type !== 'DELETED') return event.entry.value
    return event.previous?.value ?? ''
  }
}

/** Returns one line of a watch response around the JSON text of its object. */
export function eventText(
  type: WatchEventType | 'BOOKMARK' | 'ERROR',
  objectText: string,
  traceparent?: string,
): string {
  const trace = traceparent === undefined ? '' : `"traceparent":"${traceparent}",`
  return `{"type":"${type}",${trace}"object":${objectText}}\n`
}
