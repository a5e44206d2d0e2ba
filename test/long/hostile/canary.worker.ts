import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import type { AdminAccess } from '../../helpers/platnet-server.ts'
import type { Sighting } from './canary.ts'

const intervalMs = 100
const { serverPid, ...access } = workerData as AdminAccess & { readonly serverPid: number }
const agent = new Agent({ keepAlive: true })
const fresh = (): { -readonly [name in keyof Sighting]: Sighting[name] } => ({
  slowestMs: 0,
  slowestWithOthersMs: 0,
  looks: 0,
  failure: undefined,
})
let seen = fresh()

/** How long this thread and the server's main thread have waited for a processor, ready to run (proc(5), schedstat). */
function waitedForProcessorMs(): number {
  const read = (file: string) => Number(readFileSync(file, 'latin1').split(' ')[1]) / 1e6
  return read('/proc/thread-self/schedstat') + read(`/proc/${serverPid}/task/${serverPid}/schedstat`)
}

async function look(): Promise<void> {
  const [startedMs, waitedMs] = [performance.now(), waitedForProcessorMs()]
  const options = { ...access, agent, path: '/api/v1/namespaces/default', signal: AbortSignal.timeout(60_000) }
  try {
    const [response] = await once(request(options).end(), 'response')
    response.resume()
    await once(response, 'end')
    if (response.statusCode !== 200) throw new Error(`answered ${response.statusCode}`)
    const tookMs = performance.now() - startedMs
    seen.slowestMs = Math.max(seen.slowestMs, tookMs - (waitedForProcessorMs() - waitedMs))
    seen.slowestWithOthersMs = Math.max(seen.slowestWithOthersMs, tookMs)
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
