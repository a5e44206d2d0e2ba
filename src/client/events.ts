import { randomBytes } from 'node:crypto'
import type { Logger } from '../observe/index.ts'
import type { ApiClient } from './api-client.ts'
import { ApiError } from './errors.ts'
import { EventBudget } from './event-budget.ts'

type ObjectFields = Readonly<Record<string, unknown>>

/** What an Event is about. */
export interface EventSubject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string | undefined
    readonly uid: string
    readonly resourceVersion?: string
  }
}

export type EventType = 'Normal' | 'Warning'

/** Tells people what happened to an object; never fails and never waits. */
export interface EventRecorder {
  record(subject: EventSubject, type: EventType, reason: string, message: string): void
}

interface Told {
  readonly name: string
  readonly namespace: string
  count: number
  /** The next write starts when the last is done. */
  writing: Promise<void>
}

const maxTold = 1_000
const maxMessageLength = 1_024
const maxWaiting = 200

/** Writes core/v1 Events; what is told again within memory raises `count` and `lastTimestamp` of the first. Of one object no more than 25 at once. */
export class ApiEventRecorder implements EventRecorder {
  readonly #client: ApiClient
  readonly #component: string
  readonly #log: Logger
  readonly #told = new Map<string, Told>()
  readonly #budget = new EventBudget()
  #waiting = 0

  constructor(client: ApiClient, component: string, log: Logger) {
    this.#client = client
    this.#component = component
    this.#log = log
  }

  record(subject: EventSubject, type: EventType, reason: string, message: string): void {
    const { name, namespace = 'default', uid } = subject.metadata
    if (this.#waiting >= maxWaiting || !this.#budget.take(uid, performance.now())) return
    const key = [uid, type, reason, message].join('\n')
    const known = this.#told.get(key)
    const told = known ?? {
      name: `${name}.${randomBytes(8).toString('hex')}`,
      namespace,
      count: 0,
      writing: Promise.resolve(),
    }
    told.count += 1
    this.#remember(key, told)
    const lastTimestamp = `${new Date().toISOString().slice(0, 19)}Z`
    const event = { type, reason, message: message.slice(0, maxMessageLength), count: told.count, lastTimestamp }
    this.#waiting += 1
    told.writing = told.writing
      .then(() => (known ? this.#repeat(told, event) : this.#create(told, subject, event)))
      .catch((error) => this.#log.debug('an event was not written', { reason, error }))
      .finally(() => {
        this.#waiting -= 1
      })
  }

  #remember(key: string, told: Told): void {
    this.#told.delete(key)
    this.#told.set(key, told)
    const [oldest] = this.#told.keys()
    if (this.#told.size > maxTold && oldest !== undefined) this.#told.delete(oldest)
  }

  async #create({ name, namespace }: Told, subject: EventSubject, event: ObjectFields): Promise<void> {
    const { apiVersion, kind, metadata } = subject
    const involvedObject = { apiVersion, kind, name: metadata.name, uid: metadata.uid, ...namespaceOf(metadata) }
    await this.#client.create(
      { resource: eventResource, namespace },
      {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name, namespace },
        involvedObject,
        source: { component: this.#component },
        reportingComponent: this.#component,
        reportingInstance: '',
        firstTimestamp: event['lastTimestamp'],
        ...event,
      },
    )
  }

  /** An Event that has run out meanwhile is told anew next time. */
  async #repeat({ name, namespace }: Told, { count, lastTimestamp }: ObjectFields): Promise<void> {
    const ref = { resource: eventResource, namespace, name }
    await this.#client.patch(ref, { kind: 'merge', patch: { count, lastTimestamp } }).catch((error) => {
      if (error instanceof ApiError && error.code === 'not-found') this.#forget(name)
      throw error
    })
  }

  #forget(name: string): void {
    for (const [key, told] of this.#told) if (told.name === name) this.#told.delete(key)
  }
}

const eventResource = { group: '', version: 'v1', resource: 'events' }

function namespaceOf({ namespace }: { namespace?: string | undefined }) {
  return namespace === undefined ? {} : { namespace }
}
