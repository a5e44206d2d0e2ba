import { setTimeout as sleep } from 'node:timers/promises'
import { percentile } from '../report.ts'
import { configMaps, configMapText } from './config-maps.ts'
import type { LoadResults, WatchOrder } from './load-order.ts'
import { RawClient } from './raw-client.ts'

const path = `${configMaps}/written`
const query = 'watch=1&fieldSelector=metadata.name%3Dwritten'

/** Writers at a steady rate altogether, so many watchers, each of which must see every write. The first tenth warms up and does not count. */
export async function watchWrites(order: WatchOrder): Promise<LoadResults['watch']> {
  const { access, watchers, writers, writes } = order
  const writing = await Promise.all(Array.from({ length: writers }, () => RawClient.open(access)))
  await writing[0]?.send('POST', configMaps, configMapText('written'))
  const clients = await Promise.all(Array.from({ length: watchers }, () => RawClient.open(access)))
  const seenMs = await Promise.all(clients.map(openWatch))
  const startMs = performance.now()
  const answeredMs = await writeSteadily(writing, order)
  const writesPerSecond = (writes * 1000) / (performance.now() - startMs)
  const deadlineMs = performance.now() + 5_000
  while (seenMs.some((seen) => seen.length < writes) && performance.now() < deadlineMs) await sleep(20)
  await writing[0]?.send('DELETE', path)
  const behind = answeredMs.flatMap((answered, index) => behindMs(answered, index, seenMs))
  return { p99Ms: percentile(behind.slice(behind.length / 10), 0.99), writesPerSecond }
}

/** When each write was answered, in the order of the answers, which is that of the events. */
async function writeSteadily(writers: readonly RawClient[], order: WatchOrder): Promise<readonly number[]> {
  const answeredMs: number[] = []
  const startMs = performance.now()
  const counts = Array.from({ length: order.writes }, (_, index) => index).values()
  const write = async (writer: RawClient) => {
    for (const count of counts) {
      await sleep(Math.max(0, startMs + (count * 1000) / order.writesPerSecond - performance.now()))
      const patch = JSON.stringify({ data: { count: String(count) } })
      const { code } = await writer.send('PATCH', path, patch, 'application/merge-patch+json')
      if (code !== 200) throw new Error(`a patch was answered with ${code}`)
      answeredMs.push(performance.now())
    }
  }
  await Promise.all(writers.map(write))
  return answeredMs
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
