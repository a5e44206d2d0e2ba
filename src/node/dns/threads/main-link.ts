import { flushCompileCache } from 'node:module'
import { parentPort } from 'node:worker_threads'
import { createIdleMemory } from '../../../loop/idle-memory.ts'
import { describeError } from '../../../model/errors.ts'
import type { Logger } from '../../../observe/index.ts'
import type { LogFields } from '../../../observe/logger.ts'
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
export function mainThreadLog(part: ThreadLogRecord['part']): Pick<Logger, ThreadLogRecord['level']> {
  const send =
    (level: ThreadLogRecord['level']) =>
    (message: string, fields: LogFields = {}) => {
      const record: ThreadLogRecord = { part, level, message, fields }
      parentPort?.postMessage({ record })
    }
  return { error: send('error'), warn: send('warn'), info: send('info'), debug: send('debug') }
}

/** Sends spans to the main thread, which exports them. */
export function sendSpans(batch: ThreadSpans): void {
  parentPort?.postMessage({ batch })
}
