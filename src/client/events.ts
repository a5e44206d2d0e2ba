import { randomBytes } from 'node:crypto'
import { formatTime } from '../model/api-object.ts'
import type { Logger } from '../observe/index.ts'
import type { ApiClient } from './api-client.ts'
import { ApiError } from './errors.ts'
import { EventBudget } from './event-budget.ts'

type ObjectFields = Readonly<Record<string, unknown>>

/** The object that an Event is about. */
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

/** Records what happened to an object; never fails and never waits. */
export interface EventRecorder {
  record(subject: EventSubject, type: EventType, reason: string, message: string): void
}

interface RecordedEvent {
  readonly name: string
  readonly namespace: string
  count: number
  /** The next write starts when the last is done. */
  writing: Promise<void>
}

const maxRecorded = 1_000
const maxMessageLength = 1_024
const maxWaiting = 200

/** Writes core/v1 Events. A repeated Event raises `count` and `lastTimestamp` of the first while that is remembered. One object gets at most 25 at once. */
export class ApiEventRecorder implements EventRecorder {
  readonly #client: ApiClient
  readonly #component: string
  readonly #log: Logger
  readonly #recorded = new Map<string, RecordedEvent>()
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
    const known = this.#recorded.get(key)
    const recorded = known ?? {
      name: `${name}.${randomBytes(8).toString('hex')}`,
      namespace,
      count: 0,
      writing: Promise.resolve(),
    }
    recorded.count += 1
    this.#remember(key, recorded)
    const lastTimestamp = formatTime(Date.now())
    const event = { type, reason, message: message.slice(0, maxMessageLength), count: recorded.count, lastTimestamp }
    this.#waiting += 1
    recorded.writing = recorded.writing
      .then(() => (known ? this.#repeat(recorded, event) : this.#create(recorded, subject, event)))
      .catch((error) => this.#log.debug('an event was not written', { reason, error }))
      .finally(() => {
        this.#waiting -= 1
      })
  }

  #remember(key: string, recorded: RecordedEvent): void {
    this.#recorded.delete(key)
    this.#recorded.set(key, recorded)
    const [oldest] = this.#recorded.keys()
    if (this.#recorded.size > maxRecorded && oldest !== undefined) this.#recorded.delete(oldest)
  }

  async #create({ name, namespace }: RecordedEvent, subject: EventSubject, event: ObjectFields): Promise<void> {
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

  /** Repeats an Event. One that the server has deleted meanwhile is created again at the next repetition. */
  async #repeat({ name, namespace }: RecordedEvent, { count, lastTimestamp }: ObjectFields): Promise<void> {
    const ref = { resource: eventResource, namespace, name }
    await this.#client.patch(ref, { kind: 'merge', patch: { count, lastTimestamp } }).catch((error) => {
      if (error instanceof ApiError && error.code === 'not-found') this.#forget(name)
      throw error
    })
  }

  #forget(name: string): void {
    for (const [key, recorded] of this.#recorded) if (recorded.name === name) this.#recorded.delete(key)
  }
}

const eventResource = { group: '', version: 'v1', resource: 'events' }

function namespaceOf({ namespace }: { namespace?: string | undefined }) {
  return namespace === undefined ? {} : { namespace }
}
