import { once } from 'node:events'
import { Agent, request } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import type { AdminAccess } from '../../helpers/platnet-server.ts'
import type { Sighting } from './canary.ts'

const intervalMs = 100
const access = workerData as AdminAccess
const agent = new Agent({ keepAlive: true })
const fresh = (): { -readonly [name in keyof Sighting]: Sighting[name] } => ({
  slowestMs: 0,
  looks: 0,
  failure: undefined,
})
let seen = fresh()

async function look(): Promise<void> {
  const startedMs = performance.now()
  const options = { ...access, agent, path: '/api/v1/namespaces/default', signal: AbortSignal.timeout(60_000) }
  try {
    const [response] = await once(request(options).end(), 'response')
    response.resume()
    await once(response, 'end')
    if (response.statusCode !== 200) throw new Error(`answered ${response.statusCode}`)
    seen.slowestMs = Math.max(seen.slowestMs, performance.now() - startedMs)
  } catch (error) {
    seen.slowestMs = Number.POSITIVE_INFINITY
    seen.failure = String(error)
  }
  seen.looks++
}

async function run(): Promise<never> {
  for (;;) {
    const startedMs = performance.now()
    await look()
    await sleep(Math.max(0, intervalMs - (performance.now() - startedMs)))
  }
}

parentPort?.on('message', async () => {
  await look()
  parentPort?.postMessage(seen satisfies Sighting)
  seen = fresh()
})
void run()
