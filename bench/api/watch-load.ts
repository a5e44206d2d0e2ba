import { setTimeout as sleep } from 'node:timers/promises'
import { percentile } from '../report.ts'
import { configMaps, configMapText } from './config-maps.ts'
import type { LoadResults, WatchOrder } from './load-order.ts'
import { RawClient } from './raw-client.ts'

const path = `${configMaps}/written`
const query = 'watch=1&fieldSelector=metadata.name%3Dwritten'

/** One writer at a steady rate, so many watchers, each of which must see every write. */
export async function watchWrites(order: WatchOrder): Promise<LoadResults['watch']> {
  const { access, watchers, writes, writesPerSecond } = order
  const writer = await RawClient.open(access)
  await writer.send('POST', configMaps, configMapText('written'))
  const clients = await Promise.all(Array.from({ length: watchers }, () => RawClient.open(access)))
  const seenMs = await Promise.all(clients.map(openWatch))
  const answeredMs: number[] = []
  const startMs = performance.now()
  for (let count = 0; count < writes; count += 1) {
    await sleep(Math.max(0, startMs + (count * 1000) / writesPerSecond - performance.now()))
    await writer.send('PATCH', path, JSON.stringify({ data: { count: String(count) } }), 'application/merge-patch+json')
    answeredMs.push(performance.now())
  }
  const deadlineMs = performance.now() + 5_000
  while (seenMs.some((seen) => seen.length < writes) && performance.now() < deadlineMs) await sleep(20)
  await writer.send('DELETE', path)
  return {
    p99Ms: percentile(
      answeredMs.flatMap((answered, index) => behindMs(answered, index, seenMs)),
      0.99,
    ),
  }
}

/** How long after the commit each watcher saw that write. It was committed when the writer or the first watcher heard of it, or before. */
function behindMs(answeredMs: number, index: number, seenMs: readonly (readonly number[])[]): readonly number[] {
  const seen = seenMs.map((times) => times[index] ?? Number.POSITIVE_INFINITY)
  const committedMs = Math.min(answeredMs, ...seen)
  return seen.map((timeMs) => timeMs - committedMs)
}

/** The times at which this watcher has seen an event after the first, which is the object as it was; grows while it is open. */
async function openWatch(client: RawClient): Promise<readonly number[]> {
  const seenMs: number[] = []
  const first = Promise.withResolvers<void>()
  let count = 0
  client.watch(`${configMaps}?${query}`, (nowMs) => {
    count += 1
    if (count === 1) first.resolve()
    else seenMs.push(nowMs)
  })
  await first.promise
  return seenMs
}
