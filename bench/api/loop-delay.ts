import { AdminConnection } from '../../test/helpers/admin-connection.ts'
import type { AdminAccess } from '../../test/helpers/platnet-server.ts'
import { generateLoad } from './load-order.ts'

/** The timer that measures fires this often, and what it reports includes that. */
const resolutionMs = 50

/** 99th percentile of how late the server's main loop was, by its own metric, under 64 watches and 500 writes/s while another client lists. */
export async function measureLoopDelay(access: AdminAccess, expectedItems: number): Promise<number> {
  await scrapeDelayMs(access)
  await Promise.all([
    generateLoad({ kind: 'watch', access, watchers: 64, writers: 8, writes: 3_000, writesPerSecond: 500 }),
    generateLoad({ kind: 'list', access, times: 20, expectedItems }),
  ])
  return scrapeDelayMs(access)
}

/** Since the last scrape, which sets the metric back. */
async function scrapeDelayMs(access: AdminAccess): Promise<number> {
  const chunks = await (await new AdminConnection(access, 1).open('GET', '/metrics')).toArray()
  return parseLoopDelayMs(Buffer.concat(chunks).toString())
}

/** Of the metrics of a process: the 99th percentile of its main loop's delay since the last scrape. */
export function parseLoopDelayMs(metrics: string): number {
  const found = /^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(metrics)
  return Math.max(0, Number(found?.[1]) * 1000 - resolutionMs)
}
