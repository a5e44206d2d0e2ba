import { Worker } from 'node:worker_threads'
import type { AdminAccess } from '../../helpers/platnet-server.ts'

/** What the canary saw: its slowest look in ms (Infinity for one that failed), and how many there were. */
export interface Sighting {
  readonly slowestMs: number
  readonly looks: number
  readonly failure: string | undefined
}

/** An administrator that reads a namespace every 100 ms, in a thread of its own: what the trials cost their own thread does not delay it. */
export class Canary {
  readonly #worker: Worker

  constructor(access: AdminAccess) {
    this.#worker = new Worker(new URL('canary.worker.ts', import.meta.url), { workerData: access })
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
