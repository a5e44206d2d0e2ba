import { buffer } from 'node:stream/consumers'
import { AdminConnection } from '../../test/helpers/admin-connection.ts'
import { percentile } from '../report.ts'
import { configMaps } from './config-maps.ts'
import type { ListOrder, LoadResults } from './load-order.ts'
import { RawClient } from './raw-client.ts'

/** The whole collection, one list after the other; the first two are not counted. */
export async function listAll({ access, times, expectedItems }: ListOrder): Promise<LoadResults['list']> {
  const connection = new AdminConnection(access, 1)
  const found = JSON.parse((await buffer(await connection.open('GET', configMaps))).toString()).items.length
  if (found < expectedItems) throw new Error(`the list holds ${found} of ${expectedItems} objects`)
  const client = await RawClient.open(access)
  await client.send('GET', configMaps)
  const tookMs: number[] = []
  for (let count = 0; count < times; count += 1) {
    const startedMs = performance.now()
    await client.send('GET', configMaps)
    tookMs.push(performance.now() - startedMs)
  }
  return { p50Ms: percentile(tookMs, 0.5) }
}
