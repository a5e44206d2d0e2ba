import { z } from 'zod'
import { type ApiClient, Informer, type WireObject } from '../../client/index.ts'
import type { Component } from '../../loop/component.ts'
import type { Logger } from '../../observe/index.ts'

/** A Node as the console lists it. */
export interface NodeRow {
  readonly name: string
  readonly isReady: boolean
  /** The message of the condition Ready, and of every other condition that is a fault. */
  readonly messages: readonly string[]
  readonly isSchedulable: boolean
  readonly addresses: readonly string[]
  readonly podCidrs: readonly string[]
  readonly taints: readonly string[]
  readonly version: string
  /** The name of the operating system, and the version of its kernel. */
  readonly system: string
  readonly kernel: string
  /** RFC 3339 */
  readonly since: string
}

/** An Event as the console lists it. */
export interface EventRow {
  readonly key: string
  readonly type: string
  readonly reason: string
  /** `Pod default/web-1` */
  readonly subject: string
  readonly message: string
  readonly count: number
  readonly source: string
  /** RFC 3339; of the last occurrence. */
  readonly at: string
}

const texts = z.array(z.string()).nullish()

const nodeSchema = z.object({
  metadata: z.object({ name: z.string(), creationTimestamp: z.string().nullish() }),
  spec: z
    .object({
      unschedulable: z.boolean().nullish(),
      podCIDRs: texts,
      taints: z.array(z.object({ key: z.string(), effect: z.string() })).nullish(),
    })
    .nullish(),
  status: z
    .object({
      addresses: z.array(z.object({ type: z.string(), address: z.string() })).nullish(),
      conditions: z
        .array(
          z.object({
            type: z.string(),
            status: z.string(),
            reason: z.string().nullish(),
            message: z.string().nullish(),
          }),
        )
        .nullish(),
      nodeInfo: z
        .object({
          kubeletVersion: z.string().nullish(),
          osImage: z.string().nullish(),
          kernelVersion: z.string().nullish(),
        })
        .nullish(),
    })
    .nullish(),
})

const reference = z.object({ kind: z.string(), namespace: z.string(), name: z.string() }).partial()

const eventSchema = z.object({
  metadata: z.object({ name: z.string(), namespace: z.string(), creationTimestamp: z.string().nullish() }),
  type: z.string().nullish(),
  reason: z.string().nullish(),
  message: z.string().nullish(),
  count: z.number().nullish(),
  lastTimestamp: z.string().nullish(),
  eventTime: z.string().nullish(),
  series: z.object({ count: z.number(), lastObservedTime: z.string() }).partial().nullish(),
  involvedObject: reference.nullish(),
  source: z.object({ component: z.string() }).partial().nullish(),
  reportingComponent: z.string().nullish(),
})

/** Events that the page gets. */
const shownEvents = 300
const maxMessageLength = 1_024

/** The Nodes and the newest Events, while someone looks. An object that cannot be read is left out. */
export class ClusterLists {
  readonly #nodes = new Map<string, NodeRow>()
  readonly #events = new Map<string, EventRow>()
  /** Undefined after a change: thousands of Events are sorted once for each, not at every look. */
  #newest: readonly EventRow[] | undefined

  nodes(): readonly NodeRow[] {
    return [...this.#nodes.values()].sort((one, other) => (one.name < other.name ? -1 : 1))
  }

  /** The newest first. */
  events(): readonly EventRow[] {
    this.#newest ??= newestOf(this.#events.values())
    return this.#newest
  }

  createSources(client: ApiClient, log: Logger): readonly Component[] {
    const forgetNewest = () => {
      this.#newest = undefined
    }
    return [
      follow(client, 'nodes', log, { rows: this.#nodes, read: nodeRow }),
      follow(client, 'events', log, { rows: this.#events, read: eventRow, onChange: forgetNewest }),
    ]
  }
}

/** Returns the newest Events first. */
function newestOf(events: Iterable<EventRow>): readonly EventRow[] {
  return [...events].sort((one, other) => (one.at > other.at ? -1 : 1)).slice(0, shownEvents)
}

interface Followed<Row> {
  readonly rows: Map<string, Row>
  readonly read: (object: WireObject) => Row | undefined
  readonly onChange?: () => void
}

function follow<Row>(
  client: ApiClient,
  resource: string,
  log: Logger,
  { rows, read, onChange = () => {} }: Followed<Row>,
): Component {
  const put = (object: WireObject) => {
    const row = read(object)
    if (row !== undefined) rows.set(keyOf(object), row)
  }
  return new Informer({
    client,
    collection: { resource: { group: '', version: 'v1', resource } },
    handler: {
      onReplace: (items) => {
        rows.clear()
        for (const item of items) put(item)
        onChange()
      },
      onEvent: (type, object) => {
        if (type === 'DELETED') rows.delete(keyOf(object))
        else put(object)
        onChange()
      },
      onProgress: () => {},
    },
    log: log.child(resource),
  })
}

function keyOf({ metadata }: WireObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`
}

function nodeRow(object: WireObject): NodeRow | undefined {
  const node = nodeSchema.safeParse(object).data
  if (node === undefined) return undefined
  const { metadata, spec, status } = node
  const conditions = status?.conditions ?? []
  const ready = conditions.find(({ type }) => type === 'Ready')
  const faults = conditions.filter(({ type, status: is }) => type !== 'Ready' && is === 'True')
  return {
    name: metadata.name,
    isReady: ready?.status === 'True',
    messages: [...(ready ? [ready] : []), ...faults].map(({ type, reason, message }) =>
      [type, reason, message].filter(Boolean).join(': '),
    ),
    isSchedulable: spec?.unschedulable !== true,
    addresses: (status?.addresses ?? []).filter(({ type }) => type !== 'Hostname').map(({ address }) => address),
    podCidrs: spec?.podCIDRs ?? [],
    taints: (spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`),
    version: status?.nodeInfo?.kubeletVersion ?? '',
    system: status?.nodeInfo?.osImage ?? '',
    kernel: status?.nodeInfo?.kernelVersion ?? '',
    since: metadata.creationTimestamp ?? '',
  }
}

function eventRow(object: WireObject): EventRow | undefined {
  const event = eventSchema.safeParse(object).data
  if (event === undefined) return undefined
  const { metadata, involvedObject: about, series } = event
  const place = [about?.namespace, about?.name].filter(Boolean).join('/')
  const times = [series?.lastObservedTime, event.lastTimestamp, event.eventTime, metadata.creationTimestamp]
  return {
    key: `${metadata.namespace}/${metadata.name}`,
    type: event.type ?? '',
    reason: event.reason ?? '',
    subject: `${about?.kind ?? ''} ${place}`.trim(),
    message: (event.message ?? '').slice(0, maxMessageLength),
    count: series?.count ?? event.count ?? 1,
    source: event.source?.component ?? event.reportingComponent ?? '',
    at: times.find(Boolean) ?? '',
  }
}
