import { setTimeout as sleep } from 'node:timers/promises'
import { AdminConnection } from '../../test/helpers/admin-connection.ts'
import { percentile } from '../report.ts'
import { configMaps, configMapText } from './config-maps.ts'
import type { LoadResults, WatchOrder } from './load-order.ts'

const lineEnd = 10

/** One writer at a steady rate, so many watchers, each of which must see every write. */
export async function watchWrites(order: WatchOrder): Promise<LoadResults['watch']> {
  const { access, watchers, writes, writesPerSecond } = order
  const writer = new AdminConnection(access, 1)
  await writer.send('POST', configMaps, configMapText('written'))
  const seenMs = await Promise.all(Array.from({ length: watchers }, () => openWatch(new AdminConnection(access, 1))))
  const answeredMs: number[] = []
  const startMs = performance.now()
  for (let count = 0; count < writes; count += 1) {
    await sleep(Math.max(0, startMs + (count * 1000) / writesPerSecond - performance.now()))
    await writer.send('PATCH', `${configMaps}/written`, JSON.stringify({ data: { count: String(count) } }))
    answeredMs.push(performance.now())
  }
  const deadlineMs = performance.now() + 5_000
  while (seenMs.some((seen) => seen.length < writes) && performance.now() < deadlineMs) await sleep(20)
  await writer.send('DELETE', `${configMaps}/written`)
  const behindMs = seenMs.flatMap((seen) => answeredMs.map((answered, index) => (seen[index] ?? Infinity) - answered))
  return { p99Ms: percentile(behindMs, 0.99) }
}

/** The times at which this watcher has seen a line, which is an event; grows while it is open. */
async function openWatch(connection: AdminConnection): Promise<readonly number[]> {
  const seenMs: number[] = []
  const query = 'watch=1&fieldSelector=metadata.name%3Dwritten'
  const response = await connection.open('GET', `${configMaps}?${query}`)
  const first = new Promise<void>((resolve) => response.once('data', () => resolve()))
  await first
  response.on('data', (chunk: Buffer) => {
    const nowMs = performance.now()
    for (let at = chunk.indexOf(lineEnd); at !== -1; at = chunk.indexOf(lineEnd, at + 1)) seenMs.push(nowMs)
  })
  return seenMs
}
