import { Worker } from 'node:worker_threads'
import { badRequest, StatusError } from '../status.ts'
import type { YamlReading } from './yaml-text.ts'
import type { YamlReply } from './yaml-worker.ts'

/** The deadline of one text: 3 MiB take about a second; beyond the deadline the thread is stuck. */
const deadlineMs = 20_000
/** The time after which an idle thread is ended: it holds memory, and few clients send large YAML. */
const idleMs = 10_000
const resourceLimits = { maxOldGenerationSizeMb: 512, stackSizeMb: 4 }

/** Reads YAML on another thread, one text at a time. The thread starts when it is needed, and again after a failure. */
export class YamlThread {
  #worker: Worker | undefined
  #idle: NodeJS.Timeout | undefined
  #last: Promise<unknown> = Promise.resolve()

  /** Rejects with the Status that refuses the text. */
  read(text: string): Promise<YamlReading> {
    const reading = this.#last.then(() => this.#ask(text))
    this.#last = reading.catch(() => undefined)
    return reading
  }

  /** Ends the thread, whether or not it is busy. */
  stop(): void {
    clearTimeout(this.#idle)
    this.#end()
  }

  async #ask(text: string): Promise<YamlReading> {
    clearTimeout(this.#idle)
    this.#worker ??= startWorker()
    try {
      const reply = await answerOf(this.#worker, text)
      if ('reading' in reply) return reply.reading
      throw new StatusError(reply.code, reply.message)
    } catch (thrown) {
      if (!(thrown instanceof ThreadEnded)) throw thrown
      this.#end()
      throw badRequest(`the body of the request is not valid YAML: ${thrown.message}`, thrown)
    } finally {
      this.#idle = setTimeout(() => this.#end(), idleMs).unref()
    }
  }

  #end(): void {
    void this.#worker?.terminate()
    this.#worker = undefined
  }
}

/** The error of a thread that ended without a reply. */
class ThreadEnded extends Error {}

/** Starts the thread. It does not keep the process alive: a stopping server waits for the requests, not for their decoding. */
function startWorker(): Worker {
  const worker = new Worker(new URL('./yaml-worker.ts', import.meta.url), { name: 'yaml', resourceLimits })
  worker.unref()
  return worker
}

function answerOf(worker: Worker, text: string): Promise<YamlReply> {
  return new Promise((resolve, reject) => {
    const stop = (why: string) => settle(() => reject(new ThreadEnded(why)))
    const timer = setTimeout(() => stop(`reading it takes more than ${deadlineMs / 1000} s`), deadlineMs)
    const onMessage = (reply: YamlReply) => settle(() => resolve(reply))
    const onError = () => stop('reading it takes more memory than a request may have')
    const settle = (end: () => void) => {
      clearTimeout(timer)
      worker.off('message', onMessage).off('error', onError).off('exit', onError)
      end()
    }
    worker.on('message', onMessage).on('error', onError).on('exit', onError)
    worker.postMessage(text)
  })
}
