import { z } from 'zod'
import type { Component } from '../../loop/component.ts'
import type { BaseContext } from '../base-context.ts'
import { applyWrites } from '../objects/apply-writes.ts'
import { writeTarget } from '../objects/write-target.ts'
import { nameOf } from '../objects/writes.ts'
import { Controller, watchKeys } from '../runtime/controller.ts'
import { identitySchema, otherwise } from '../runtime/metadata.ts'
import { keyOf, resourceType } from '../runtime/resource-type.ts'

const eventSchema = z.object({
  metadata: identitySchema.extend({ creationTimestamp: otherwise(z.string(), '') }),
  lastTimestamp: z.string().nullish(),
  eventTime: z.string().nullish(),
  series: z.object({ lastObservedTime: z.string().nullish() }).nullish(),
})

type Event = z.output<typeof eventSchema>

const eventType = resourceType('', 'v1', 'events', 'Event', eventSchema)

/** Deletes Events that have not recurred for `ttlMs`, which is read again at least each 10 minutes. Its keys are Events. */
export function createEventTtlController(
  { client, caches, metrics, log }: BaseContext,
  ttlMs: () => number,
): Component {
  const events = caches.of(eventType)
  const target = writeTarget(client, caches, [])
  const reconcile = async (key: string, { signal }: { signal: AbortSignal }) => {
    const event = events.get(key)
    if (event === undefined) return undefined
    const leftMs = lastOccurrenceMs(event) + ttlMs() - Date.now()
    if (leftMs > 0) return { againInMs: Math.min(leftMs, recheckMs) }
    const { uid } = event.metadata
    await applyWrites(target, [{ verb: 'delete', target: nameOf(eventType.resource, event), uid }], signal)
    return undefined
  }
  return new Controller({
    name: 'event-ttl',
    watches: [watchKeys(events, (event) => [keyOf(event)])],
    reconcile,
    metrics,
    log: log.child('event-ttl'),
  })
}

/** The longest delay of one timer: the time to live may have changed. */
const recheckMs = 600_000

/** Returns the time of the Event's last occurrence; an Event without a valid time counts as old. */
function lastOccurrenceMs({ metadata, lastTimestamp, eventTime, series }: Event): number {
  const times = [metadata.creationTimestamp, lastTimestamp, eventTime, series?.lastObservedTime]
  return Math.max(0, ...times.map((time) => Date.parse(time ?? '')).filter((ms) => !Number.isNaN(ms)))
}
