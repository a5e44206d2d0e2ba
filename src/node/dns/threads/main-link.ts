import { flushCompileCache } from 'node:module'
import { parentPort } from 'node:worker_threads'
import { describeError } from '../../../model/errors.ts'
import type { ThreadNote } from './messages.ts'

interface Envelope<Request> {
  readonly id: number
  readonly request: Request
}

/** A thread's end of its line to the main one: each request is answered, with what `answer` gives or why it failed. */
export function serveMainThread<Request>(answer: (request: Request) => unknown): void {
  // Kept also when the process is killed: the next thread loads compiled code and no compiler of its own, 15 MiB less.
  flushCompileCache()
  parentPort?.on('message', async ({ id, request }: Envelope<Request>) => {
    try {
      parentPort?.postMessage({ id, answer: await answer(request) })
    } catch (error) {
      parentPort?.postMessage({ id, failure: describeError(error) })
    }
  })
}

/** Tells the main thread something to log. */
export function tellMainThread(note: ThreadNote): void {
  parentPort?.postMessage({ note })
}
