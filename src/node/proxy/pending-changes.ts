import type { ObjectKey } from '../../model/api-object.ts'
import { PendingTraces } from '../../observe/index.ts'
import type { ChangeSet } from '../state/index.ts'

interface Pending {
  /** When it was asked for first, milliseconds since 1970. */
  readonly sinceMs: number
  /** Whether its endpoints changed, and not only its own object. */
  readonly isOfEndpoints: boolean
}

/** The times in the cluster of the causes of these Services' changes, from the slices; milliseconds since 1970. */
interface Trigger {
  /** How many of them wait. */
  waiting: number
  readonly triggeredAtMs: readonly number[]
}

/** The Services that changed and that the kernel does not have yet as they are now. */
export class PendingChanges {
  /** The start of this process; earlier causes do not count in its latencies. */
  readonly #startedAtMs = Date.now()
  /** The traces of these changes, for the sync that writes them. */
  readonly traces = new PendingTraces()
  readonly #pending = new Map<ObjectKey, Pending>()
  #changed = new Set<ObjectKey>()
  readonly #triggers = new Map<ObjectKey, Trigger[]>()
  #wasTaken = false

  /** When the oldest of it was asked for. */
  get sinceMs(): number | undefined {
    // In the order in which they came.
    return this.#pending.values().next().value?.sinceMs
  }

  /** Whether `takeChanged` was called before. */
  get wasTaken(): boolean {
    return this.#wasTaken
  }

  /** Whether it changed since it was planned. */
  hasChanged(service: ObjectKey): boolean {
    return this.#changed.has(service)
  }

  /** How many Services wait because of their own object, and how many because of their endpoints. */
  get counts(): { readonly services: number; readonly endpoints: number } {
    const endpoints = this.#pending.values().reduce((sum, { isOfEndpoints }) => sum + Number(isOfEndpoints), 0)
    return { services: this.#pending.size - endpoints, endpoints }
  }

  add({ services, resource, triggeredAtMs = [], traces }: Omit<ChangeSet, 'revision'>): void {
    const nowMs = Date.now()
    const isOfEndpoints = resource === 'endpointslices' || resource === 'endpoints'
    for (const service of services) {
      const known = this.#pending.get(service)
      const pending = {
        sinceMs: known?.sinceMs ?? nowMs,
        isOfEndpoints: isOfEndpoints || known?.isOfEndpoints === true,
      }
      this.#pending.set(service, pending)
    }
    this.again(services)
    this.#addTrigger(services, triggeredAtMs)
    this.traces.add(traces)
  }

  #addTrigger(services: ReadonlySet<ObjectKey>, triggeredAtMs: readonly number[]): void {
    const times = triggeredAtMs.filter((atMs) => atMs >= this.#startedAtMs)
    if (times.length === 0) return
    const trigger = { waiting: services.size, triggeredAtMs: times }
    for (const service of services) this.#triggers.getOrInsert(service, []).push(trigger)
  }

  /** Returns the Services to plan; they stay pending until they are settled. */
  takeChanged(): readonly ObjectKey[] {
    this.#wasTaken = true
    const changed = [...this.#changed]
    this.#changed.clear()
    return changed
  }

  /** They are to be planned once more. */
  again(services: Iterable<ObjectKey>): void {
    for (const service of services) this.#changed.add(service)
  }

  /** The kernel has these as they were planned, or they are set aside. Returns the times of the triggers of which nothing waits any more. */
  settle(services: Iterable<ObjectKey>): readonly number[] {
    const over: number[] = []
    for (const service of services) {
      if (this.#changed.has(service)) continue
      this.#pending.delete(service)
      for (const trigger of this.#triggers.get(service) ?? []) {
        trigger.waiting -= 1
        if (trigger.waiting === 0) over.push(...trigger.triggeredAtMs)
      }
      this.#triggers.delete(service)
    }
    return over
  }
}
