import type { ObjectKey } from '../../model/api-object.ts'
import type { ChangeSet } from '../state/index.ts'

/** What one write has to carry. */
export interface ChangeBatch {
  readonly services: ReadonlySet<ObjectKey>
  /** Those of them whose endpoints changed, and not only their own object. */
  readonly endpoints: ReadonlySet<ObjectKey>
  /** When the oldest of it was asked for, milliseconds since 1970. */
  readonly sinceMs: number | undefined
  /** When what led to it happened in the cluster, as slices tell; milliseconds since 1970. */
  readonly triggeredAtMs: readonly number[]
}

/** The Services that changed and that the kernel does not have yet as they are now. */
export class PendingChanges {
  /** What happened before is no measure of this process. */
  readonly #startedAtMs = Date.now()
  #services: ReadonlySet<ObjectKey> = new Set()
  #endpoints: ReadonlySet<ObjectKey> = new Set()
  #triggeredAtMs: number[] = []
  #sinceMs: number | undefined

  get sinceMs(): number | undefined {
    return this.#sinceMs
  }

  has(service: ObjectKey): boolean {
    return this.#services.has(service)
  }

  /** How many Services wait because of their own object, and how many because of their endpoints. */
  get counts(): { readonly services: number; readonly endpoints: number } {
    return { services: this.#services.size - this.#endpoints.size, endpoints: this.#endpoints.size }
  }

  add({ services, resource, triggeredAtMs = [] }: Omit<ChangeSet, 'revision'>): void {
    this.#sinceMs ??= Date.now()
    const isOfEndpoints = resource === 'endpointslices' || resource === 'endpoints'
    this.#services = this.#services.union(services)
    if (isOfEndpoints) this.#endpoints = this.#endpoints.union(services)
    this.#triggeredAtMs.push(...triggeredAtMs.filter((atMs) => atMs >= this.#startedAtMs))
  }

  /** Everything there is; what comes from now on belongs to the next batch. */
  take(): ChangeBatch {
    const batch = {
      services: this.#services,
      endpoints: this.#endpoints,
      sinceMs: this.#sinceMs,
      triggeredAtMs: this.#triggeredAtMs,
    }
    this.#services = new Set()
    this.#endpoints = new Set()
    this.#triggeredAtMs = []
    this.#sinceMs = undefined
    return batch
  }

  /** Its write failed. */
  putBack({ services, endpoints, sinceMs, triggeredAtMs }: ChangeBatch): void {
    this.#services = this.#services.union(services)
    this.#endpoints = this.#endpoints.union(endpoints)
    this.#triggeredAtMs.unshift(...triggeredAtMs)
    this.#sinceMs = sinceMs ?? this.#sinceMs
  }
}
