import type { Series } from '../metrics/series.ts'
import type { Answer } from '../plugins/handler.ts'
import type { ResolvedBlock } from '../plugins/resolved-block.ts'
import type { Resolution, ResolverHandler, ResolverNext, ResolverQuestion } from '../plugins/resolver-handler.ts'
import { createResolverHandlers, type ResolverEvents } from '../plugins/resolver-handlers.ts'
import { rcode } from '../wire/codes.ts'
import type { Query } from '../wire/query.ts'
import { makeAnswer, makeCode } from './write-answer.ts'

/** A question that is not answered from the cluster's names. */
export interface ResolverQuery {
  readonly query: Query
  /** The address of the client: the queries in progress are shared out among clients. */
  readonly client: string
  readonly overTcp: boolean
  /** The most bytes of the answer. */
  readonly limit: number
}

/** How long a replaced resolver lives on; no query waits longer. */
const retireAfterMs = 10_000

const noHandler: Resolution = { kind: 'code', plugin: '', rcode: rcode.SERVFAIL, because: 'no-upstream' }

/** The handlers of one server block in the resolver, and what passes questions through them. */
export class BlockResolver {
  readonly handlers: readonly ResolverHandler[]
  readonly #server: string
  readonly #onFailure: ResolverEvents['onFailure']
  readonly #first: ResolverNext

  /** `before` is the resolver of the same block before a reload. Its cache is kept. */
  constructor(block: ResolvedBlock, events: ResolverEvents, before?: BlockResolver) {
    this.handlers = createResolverHandlers(block, events, before?.handlers ?? [])
    this.#server = block.server
    this.#onFailure = events.onFailure
    this.#first = this.handlers.reduceRight<ResolverNext>(
      (next, handler) => (question, keep) => handler.resolve(question, next, keep),
      () => noHandler,
    )
  }

  start(): void {
    for (const handler of this.handlers) handler.start?.()
  }

  close(): void {
    this.#stop()
    for (const handler of this.handlers) handler.close?.()
  }

  /** Closes after the queries in progress have their answers. */
  retire(): void {
    this.#stop()
    setTimeout(() => this.close(), retireAfterMs).unref()
  }

  series(): Iterable<Series> {
    return this.handlers.flatMap((handler) => [...(handler.series?.(this.#server) ?? [])])
  }

  /** Passes a question through the handlers. Undefined: `question.done` receives the resolution. */
  ask(question: ResolverQuestion): Resolution | undefined {
    return this.#first(question)
  }

  resolve(request: ResolverQuery): Answer | Promise<Answer> {
    const { query, client, overTcp } = request
    let now: Resolution | undefined
    const later = new Promise<Resolution>((done) => {
      now = this.#first({ query, overTcp, client, done })
    })
    if (now !== undefined) return write(request, now)
    return later
      .then((late) => write(request, late))
      .catch((error: unknown) => {
        this.#onFailure(query, error)
        return { message: makeCode(query, rcode.SERVFAIL), plugin: 'forward', ageMs: 0 }
      })
  }

  #stop(): void {
    for (const handler of this.handlers) handler.stop?.()
  }
}

function write({ query, limit }: ResolverQuery, resolution: Resolution): Answer {
  const message = makeAnswer(query, resolution, limit)
  const { plugin } = resolution
  if (resolution.kind !== 'message') return { message, plugin, ageMs: 0 }
  const { ageMs, copy } = resolution
  return copy === undefined ? { message, plugin, ageMs } : { message, plugin, ageMs, copy }
}
