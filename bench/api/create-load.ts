import { AdminConnection } from '../../test/helpers/admin-connection.ts'
import { percentile } from '../report.ts'
import { configMaps, configMapText } from './config-maps.ts'
import type { CreateOrder, LoadResults } from './load-order.ts'

/** So many clients, each with one request under way, until all objects are there. */
export async function createAll({ access, clients, objects }: CreateOrder): Promise<LoadResults['create']> {
  const connection = new AdminConnection(access, clients)
  const names = Array.from({ length: objects }, (_, index) => `bench-${index}`).values()
  const tookMs: number[] = []
  const client = async () => {
    for (const name of names) {
      const startedMs = performance.now()
      await connection.send('POST', configMaps, configMapText(name))
      tookMs.push(performance.now() - startedMs)
    }
  }
  const startedMs = performance.now()
  await Promise.all(Array.from({ length: clients }, client))
  const seconds = (performance.now() - startedMs) / 1000
  return { perSecond: objects / seconds, p50Ms: percentile(tookMs, 0.5), p99Ms: percentile(tookMs, 0.99) }
}
