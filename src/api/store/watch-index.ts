import type { Topic } from './store.ts'
import type { StoreEvent } from './store-entries.ts'
import { keyOfEvent } from './store-state.ts'

interface Indexed {
  readonly prefix: string
  readonly topic: Topic | undefined
}

/** The watches of one prefix. */
class PrefixGroup<Watch extends Indexed> {
  readonly #everything = new Set<Watch>()
  /** The watches by the function that finds an event's topics, then by topic. */
  readonly #byTopic = new Map<Topic['of'], Map<string, Set<Watch>>>()

  get isEmpty(): boolean {
    return this.#everything.size + this.#byTopic.size === 0
  }

  add(watch: Watch): void {
    if (watch.topic === undefined) {
      this.#everything.add(watch)
      return
    }
    const { of, name } = watch.topic
    const topics = this.#byTopic.get(of) ?? new Map<string, Set<Watch>>()
    this.#byTopic.set(of, topics)
    topics.set(name, (topics.get(name) ?? new Set()).add(watch))
  }

  delete(watch: Watch): void {
    this.#everything.delete(watch)
    if (watch.topic === undefined) return
    const { of, name } = watch.topic
    const topics = this.#byTopic.get(of)
    const watches = topics?.get(name)
    watches?.delete(watch)
    if (watches?.size === 0) topics?.delete(name)
    if (topics?.size === 0) this.#byTopic.delete(of)
  }

  collect(event: StoreEvent, found: Set<Watch>): void {
    for (const watch of this.#everything) found.add(watch)
    for (const [of, topics] of this.#byTopic)
      for (const name of topicsOf(event, of, topics)) for (const watch of topics.get(name) ?? []) found.add(watch)
  }
}

/** Returns the topics of an event. An unreadable event goes to all topics: each watch reports the failure. */
function topicsOf(event: StoreEvent, of: Topic['of'], all: ReadonlyMap<string, unknown>): Iterable<string> {
  try {
    return of(event)
  } catch {
    return all.keys()
  }
}

/** Finds the watches of an event, by its key and topics, among thousands with other keys or topics. */
export class WatchIndex<Watch extends Indexed> {
  readonly #groups = new Map<string, PrefixGroup<Watch>>()
  /** The number of prefixes of each length. */
  readonly #lengths = new Map<number, number>()

  add(watch: Watch): void {
    const { prefix } = watch
    const known = this.#groups.get(prefix)
    if (known !== undefined) {
      known.add(watch)
      return
    }
    const group = new PrefixGroup<Watch>()
    group.add(watch)
    this.#groups.set(prefix, group)
    this.#lengths.set(prefix.length, (this.#lengths.get(prefix.length) ?? 0) + 1)
  }

  delete(watch: Watch): void {
    const { prefix } = watch
    const group = this.#groups.get(prefix)
    group?.delete(watch)
    if (group?.isEmpty !== true) return
    this.#groups.delete(prefix)
    const left = (this.#lengths.get(prefix.length) ?? 0) - 1
    if (left > 0) this.#lengths.set(prefix.length, left)
    else this.#lengths.delete(prefix.length)
  }

  watchesOf(event: StoreEvent): ReadonlySet<Watch> {
    const key = keyOfEvent(event)
    const found = new Set<Watch>()
    for (const length of this.#lengths.keys())
      if (length <= key.length) this.#groups.get(key.slice(0, length))?.collect(event, found)
    return found
  }
}
