import { Worker } from 'node:worker_threads'
import type { AdminAccess } from '../../helpers/platnet-server.ts'

/** What the canary saw, and how many looks there were. */
export interface Sighting {
  /** Of the slowest look (Infinity for one that failed), without the time for which all processors were taken. */
  readonly slowestMs: number
  /** With that time. */
  readonly slowestWithOthersMs: number
  readonly looks: number
  readonly failure: string | undefined
}

/** An administrator that reads a namespace every 100 ms, in a thread of its own: what the trials cost their own thread does not delay it. */
export class Canary {
  readonly #worker: Worker

  constructor(access: AdminAccess, serverPid: number) {
    this.#worker = new Worker(new URL('canary.worker.ts', import.meta.url), { workerData: { ...access, serverPid } })
  }

  /** What was seen since the last time; waits for a look that begins now. */
  take(): Promise<Sighting> {
    return new Promise((resolve, reject) => {
      this.#worker.removeAllListeners('error').once('error', reject)
      this.#worker.once('message', resolve)
      this.#worker.postMessage('take')
    })
  }

  async stop(): Promise<void> {
    await this.#worker.terminate()
  }
}
