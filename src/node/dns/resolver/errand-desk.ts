import type { MessagePort } from 'node:worker_threads'
import type { Errand, ErrandResult } from '../threads/messages.ts'
import { Query } from '../wire/query.ts'
import type { BlockResolver, Resolution } from './block-resolver.ts'

/** The resolving thread's end of the line to one serving thread. */
export class ErrandDesk {
  readonly #port: MessagePort
  readonly #find: (block: string) => BlockResolver | undefined
  #outbox: ErrandResult[] = []

  constructor(port: MessagePort, find: (block: string) => BlockResolver | undefined) {
    this.#port = port
    this.#find = find
    port.on('message', (errands: readonly Errand[]) => {
      for (const errand of errands) this.#take(errand)
    })
  }

  close(): void {
    this.#port.close()
  }

  #take(errand: Errand): void {
    const resolution = this.#resolve(errand)
    if (resolution instanceof Promise) void resolution.then((done) => this.#reply(errand, done))
    else this.#reply(errand, resolution)
  }

  #resolve({ block, question, client, overTcp, limit }: Errand): Resolution | Promise<Resolution> {
    const query = new Query()
    const bytes = Buffer.from(question.buffer, question.byteOffset, question.length)
    const resolver = this.#find(block)
    if (query.parse(bytes, bytes.length) !== 'ok' || resolver === undefined)
      return { message: undefined, plugin: '', ageMs: 0 }
    return resolver.resolve({ query, client, overTcp, limit })
  }

  #reply({ id, wantsKept }: Errand, { message, plugin, ageMs, kept }: Resolution): void {
    if (this.#outbox.length === 0) setImmediate(() => this.#flush())
    // A view would be sent with all of the memory it looks at.
    const copy = wantsKept && kept !== undefined && { kept: { ...kept, message: new Uint8Array(kept.message) } }
    this.#outbox.push({ id, message: message && new Uint8Array(message), plugin, ageMs, ...copy })
  }

  #flush(): void {
    this.#port.postMessage(this.#outbox)
    this.#outbox = []
  }
}
