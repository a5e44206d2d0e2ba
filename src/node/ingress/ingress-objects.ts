import { z } from 'zod'
import type { WireObject } from '../../client/index.ts'
import type { ObjectKey } from '../../model/api-object.ts'
import { parseIp } from '../../model/ip.ts'
import type { IngressChanges } from './plan.ts'

/** The parts of an Ingress object that only Events and its status need. */
export interface IngressRecord {
  readonly uid: string
  /** `status.loadBalancer.ingress` of the object: addresses and host names, in its order. */
  readonly addresses: readonly string[]
}

/** Without secrets: each of its parts is listed as a whole before it counts. */
type ListedPart = 'ingresses' | 'classes'

const statusSchema = z.object({
  status: z.object({
    loadBalancer: z.object({
      ingress: z.array(z.object({ ip: z.string().max(64).optional(), hostname: z.string().max(253).optional() })),
    }),
  }),
})

/** Collects what the watches bring until the plane takes it, and keeps the records of Ingresses. */
export class IngressObjects {
  readonly #records = new Map<ObjectKey, IngressRecord>()
  readonly #missing = new Set<ListedPart>(['ingresses', 'classes'])
  readonly #denials = new Map<ListedPart, string>()
  readonly #listeners = new Set<() => void>()
  #pending = emptyChanges()

  /** Takes objects that are new or differ. */
  add({ ingresses = new Map(), classes = new Map(), secrets = new Map() }: Omit<IngressChanges, 'services'>): void {
    if (ingresses.size + classes.size + secrets.size === 0) return
    for (const [key, value] of ingresses) this.#pending.ingresses.set(key, value)
    for (const [key, value] of classes) this.#pending.classes.set(key, value)
    for (const [key, value] of secrets) this.#pending.secrets.set(key, value)
    this.#notify()
  }

  setRecord(key: ObjectKey, record: IngressRecord | undefined): void {
    if (record === undefined) this.#records.delete(key)
    else this.#records.set(key, record)
  }

  record(key: ObjectKey): IngressRecord | undefined {
    return this.#records.get(key)
  }

  listed(part: ListedPart): void {
    this.#denials.delete(part)
    if (this.#missing.delete(part)) this.#notify()
  }

  /** The server refuses a list, or does not have it. One that was listed before counts until it can be read again. */
  denied(part: ListedPart, reason: string): void {
    if (!this.#missing.has(part) || this.#denials.get(part) === reason) return
    this.#denials.set(part, reason)
    this.#notify()
  }

  /** One sentence for each list that the server does not hand out. */
  get denials(): readonly string[] {
    return Array.from(this.#denials, ([part, reason]) => `${part} cannot be read: ${reason}`)
  }

  get missing(): readonly string[] {
    return [...this.#missing]
  }

  /** Everything that came since the last call. */
  take(): PendingObjects {
    const taken = this.#pending
    this.#pending = emptyChanges()
    return taken
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
  }
}

export type PendingObjects = ReturnType<typeof emptyChanges>

function emptyChanges() {
  return {
    ingresses: new Map<ObjectKey, Value<'ingresses'>>(),
    classes: new Map<string, Value<'classes'>>(),
    secrets: new Map<ObjectKey, Value<'secrets'>>(),
  }
}

type Value<Part extends 'ingresses' | 'classes' | 'secrets'> =
  NonNullable<IngressChanges[Part]> extends ReadonlyMap<string, infer Found> ? Found : never

/** A status that cannot be read counts as empty, so that it is written anew. */
export function readRecord(object: WireObject): IngressRecord {
  const parsed = statusSchema.safeParse(object)
  const found = parsed.success ? parsed.data.status.loadBalancer.ingress : []
  const addresses = found.flatMap(({ ip, hostname }) => (ip === undefined ? (hostname ?? []) : (parseIp(ip) ?? ip)))
  return { uid: object.metadata.uid ?? '', addresses }
}
