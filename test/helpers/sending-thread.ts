import { once } from 'node:events'
import { request } from 'node:https'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { type TestServer, testToken } from './api-server.ts'

export interface SentRequest {
  readonly method: string
  readonly path: string
  readonly contentType: string
  readonly body: string
}

/** Sends requests from a thread of its own, so that the event loop of the test has only the server's work. */
export class SendingThread {
  readonly #worker: Worker

  constructor({ port, authority }: TestServer) {
    this.#worker = new Worker(new URL(import.meta.url), { workerData: { port, ca: authority.certPem } })
  }

  /** Resolves with the HTTP code when the answer has been read. */
  async send(sent: SentRequest): Promise<number> {
    this.#worker.postMessage(sent)
    const [code] = (await once(this.#worker, 'message')) as [number]
    return code
  }

  async stop(): Promise<void> {
    await this.#worker.terminate()
  }
}

function sendHere({ method, path, contentType, body }: SentRequest): void {
  const headers = {
    authorization: `Bearer ${testToken}`,
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
  }
  const sending = request({ host: '127.0.0.1', ...workerData, method, path, headers }, (response) => {
    response.resume().on('end', () => parentPort?.postMessage(response.statusCode))
  })
  sending.end(body)
}

if (!isMainThread) parentPort?.on('message', sendHere)
