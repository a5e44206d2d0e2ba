import type { MessagePort } from 'node:worker_threads'
import type { ResolveRequest, ResolveResult } from '../plugins/forward/resolve-request.ts'
import type { Answer } from '../plugins/handler.ts'
import { Query } from '../wire/query.ts'
import {
  type GiveCopy,
  type HandedDatagrams,
  type ListeningPlaces,
  packHandedCopy,
  packResults,
  type RequestBatch,
  type SharedProgress,
  unpackRequests,
} from './batches.ts'
import type { BlockResolver } from './block-resolver.ts'

/** The most bytes of copies for the datagrams of one message: a flood for one name with a long answer would give one copy for each. */
const maxCopyBytes = 256 * 1024

/** Answers datagrams that another thread hands over. `giveCopy` sends that thread a copy of a cached answer. */
export type TakeDatagrams = (handed: HandedDatagrams, giveCopy: GiveCopy) => void

interface ResolveServerParts {
  readonly find: (block: string) => BlockResolver | undefined
  readonly takeDatagrams: TakeDatagrams
  /** Called when the other thread has ended. */
  readonly onEnd?: () => void
}

/** The end of the channel to another serving thread, on the one with the resolver. */
export class ResolveServer {
  readonly #port: MessagePort
  readonly #find: ResolveServerParts['find']
  #outbox: ResolveResult[] = []

  constructor(port: MessagePort, { find, takeDatagrams, onEnd }: ResolveServerParts) {
    this.#port = port
    this.#find = find
    let taken: SharedProgress['taken'] | undefined
    port.once('close', () => onEnd?.())
    port.on('message', (message: RequestBatch | HandedDatagrams | SharedProgress) => {
      if ('taken' in message) taken = message.taken
      else if ('place' in message) {
        if (taken !== undefined) Atomics.add(taken, 0, message.packed.length)
        takeDatagrams(message, this.#copyGiver())
      } else for (const request of unpackRequests(message)) this.#take(request)
    })
  }

  /** Says where this thread listens: the other one hands over no datagrams of other places. */
  tellPlaces(places: ListeningPlaces['places']): void {
    this.#port.postMessage({ places } satisfies ListeningPlaces)
  }

  close(): void {
    this.#port.close()
  }

  #copyGiver(): GiveCopy {
    let bytes = 0
    return (handed) => {
      bytes += handed.copy.message.length
      if (bytes <= maxCopyBytes) this.#port.postMessage(packHandedCopy(handed))
    }
  }

  #take(request: ResolveRequest): void {
    const answer = this.#resolve(request)
    if (answer instanceof Promise) void answer.then((resolved) => this.#reply(request, resolved))
    else this.#reply(request, answer)
  }

  #resolve({ block, question, client, overTcp, limit }: ResolveRequest): Answer | Promise<Answer> {
    const query = new Query()
    const bytes = Buffer.from(question.buffer, question.byteOffset, question.length)
    const resolver = this.#find(block)
    if (query.parse(bytes, bytes.length) !== 'ok' || resolver === undefined)
      return { message: undefined, plugin: '', ageMs: 0 }
    return resolver.resolve({ query, client, overTcp, limit })
  }

  #reply({ id, wantsCopy }: ResolveRequest, { message, plugin, ageMs, copy }: Answer): void {
    if (this.#outbox.length === 0) setImmediate(() => this.#flush())
    const result = { id, message, plugin, ageMs }
    this.#outbox.push(wantsCopy && copy !== undefined ? { ...result, copy } : result)
  }

  #flush(): void {
    this.#port.postMessage(packResults(this.#outbox))
    this.#outbox = []
  }
}
