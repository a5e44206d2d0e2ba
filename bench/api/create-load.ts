import { percentile } from '../report.ts'
import { configMaps, configMapText } from './config-maps.ts'
import type { CreateOrder, LoadResults } from './load-order.ts'
import { RawClient } from './raw-client.ts'

const created = 201
/** Objects made before the clock starts: connections stand, and just-in-time compilers have seen the work. */
export const warmUpObjects = 2_000

/** So many clients, each with one request under way, until all objects are there; those of the warm-up count as objects and not as times. */
export async function createAll({ access, clients, objects }: CreateOrder): Promise<LoadResults['create']> {
  const connections = await Promise.all(Array.from({ length: clients }, () => RawClient.open(access)))
  await createSome(connections, 0, warmUpObjects)
  const startedMs = performance.now()
  const tookMs = await createSome(connections, warmUpObjects, objects)
  const seconds = (performance.now() - startedMs) / 1000
  for (const connection of connections) connection.close()
  return { perSecond: tookMs.length / seconds, p50Ms: percentile(tookMs, 0.5), p99Ms: percentile(tookMs, 0.99) }
}

async function createSome(connections: readonly RawClient[], from: number, to: number): Promise<number[]> {
  const indexes = Array.from({ length: to - from }, (_, index) => from + index).values()
  const tookMs: number[] = []
  const client = async (connection: RawClient) => {
    for (const index of indexes) {
      const body = configMapText(`bench-${index}`)
      const startedMs = performance.now()
      const { code } = await connection.send('POST', configMaps, body)
      tookMs.push(performance.now() - startedMs)
      if (code !== created) throw new Error(`a create was answered with ${code}`)
    }
  }
  await Promise.all(connections.map(client))
  return tookMs
}
