import type { MessagePort } from 'node:worker_threads'
import type { ResolveRequest, ResolveResult } from '../threads/messages.ts'
import { Query } from '../wire/query.ts'
import type { BlockResolver, ResolverAnswer } from './block-resolver.ts'

/** The resolving thread's end of the line to one serving thread. */
export class ResolveServer {
  readonly #port: MessagePort
  readonly #find: (block: string) => BlockResolver | undefined
  #outbox: ResolveResult[] = []

  constructor(port: MessagePort, find: (block: string) => BlockResolver | undefined) {
    this.#port = port
    this.#find = find
    port.on('message', (errands: readonly ResolveRequest[]) => {
      for (const errand of errands) this.#take(errand)
    })
  }

  close(): void {
    this.#port.close()
  }

  #take(errand: ResolveRequest): void {
    const resolution = this.#resolve(errand)
    if (resolution instanceof Promise) void resolution.then((done) => this.#reply(errand, done))
    else this.#reply(errand, resolution)
  }

  #resolve({ block, question, client, overTcp, limit }: ResolveRequest): ResolverAnswer | Promise<ResolverAnswer> {
    const query = new Query()
    const bytes = Buffer.from(question.buffer, question.byteOffset, question.length)
    const resolver = this.#find(block)
    if (query.parse(bytes, bytes.length) !== 'ok' || resolver === undefined)
      return { message: undefined, plugin: '', ageMs: 0 }
    return resolver.resolve({ query, client, overTcp, limit })
  }

  #reply({ id, wantsCopy }: ResolveRequest, { message, plugin, ageMs, kept }: ResolverAnswer): void {
    if (this.#outbox.length === 0) setImmediate(() => this.#flush())
    // A view would be sent with all of the memory it looks at.
    const copy = wantsCopy && kept !== undefined && { kept: { ...kept, message: new Uint8Array(kept.message) } }
    this.#outbox.push({ id, message: message && new Uint8Array(message), plugin, ageMs, ...copy })
  }

  #flush(): void {
    this.#port.postMessage(this.#outbox)
    this.#outbox = []
  }
}
