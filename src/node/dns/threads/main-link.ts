import { flushCompileCache } from 'node:module'
import { parentPort } from 'node:worker_threads'
import { createIdleMemory } from '../../../loop/idle-memory.ts'
import { describeError } from '../../../model/errors.ts'
import type { Logger } from '../../../observe/index.ts'
import type { ThreadLogRecord } from './messages.ts'
import type { ThreadSpans } from './span-outbox.ts'

interface Envelope<Request> {
  readonly id: number
  readonly request: Request
}

/** Answers the requests of the main thread: each gets what `answer` returns, or the error it throws. */
export function serveMainThread<Request>(answer: (request: Request) => unknown): void {
  // Flushed now, because a killed process would not: the next thread loads compiled code and no compiler of its own, 15 MiB less.
  flushCompileCache()
  for (const memory of createIdleMemory()) void memory.start()
  parentPort?.on('message', async ({ id, request }: Envelope<Request>) => {
    try {
      parentPort?.postMessage({ id, answer: await answer(request) })
    } catch (error) {
      parentPort?.postMessage({ id, failure: describeError(error) })
    }
  })
}

/** Sends log records to the main thread, which writes them. */
export const mainThreadLog: Pick<Logger, ThreadLogRecord['level']> = {
  error: (message, fields = {}) => send({ level: 'error', message, fields }),
  warn: (message, fields = {}) => send({ level: 'warn', message, fields }),
  info: (message, fields = {}) => send({ level: 'info', message, fields }),
  debug: (message, fields = {}) => send({ level: 'debug', message, fields }),
}

/** Sends spans to the main thread, which exports them. */
export function sendSpans(batch: ThreadSpans): void {
  parentPort?.postMessage({ batch })
}

function send(record: ThreadLogRecord): void {
  parentPort?.postMessage({ record })
}
