import type { Series } from '../metrics/series.ts'
import { CacheHandler } from '../plugins/cache/handler.ts'
import type { Client, Listener } from '../plugins/client.ts'
import { type Answer, type CachedCopy, handlerResult, type Question, serverFailure } from '../plugins/handler.ts'
import type { HandlerParts } from '../plugins/handlers.ts'
import { rotateMessage } from '../plugins/loadbalance/handler.ts'
import { BlockCounts } from '../plugins/prometheus/metrics.ts'
import { makeTargetQuery } from '../plugins/resolve-target.ts'
import type { Resolution, ResolverQuestion } from '../plugins/resolver-handler.ts'
import { writeAnswer } from '../resolver/write-answer.ts'
import { readUint16 } from '../wire/bytes.ts'
import { rcode, recordClass } from '../wire/codes.ts'
import { maxMessageLength } from '../wire/message.ts'
import { Query, type QueryVerdict } from '../wire/query.ts'
import { writeError } from '../wire/response.ts'
import type { SharedTable } from '../zone/layout.ts'
import { ActiveBlock } from './active-block.ts'
import { DatagramQuestion, type ForwardedDatagram } from './datagram-question.ts'
import type { ServingSettings } from './settings.ts'
import { SourceFilter } from './source-filter.ts'

/** The codes that `respondNow` returns instead of a length, which is above 0. */
export const responderResult = {
  /** The client gets no answer. */
  none: 0,
  /** `respondLater` gives the answer. */
  later: -1,
  /** The resolver has the answer: `forward` gives it on the thread with the resolver, `respondLater` on every thread. */
  resolver: -2,
} as const

/** An answer over UDP has no more bytes, so that it is not fragmented on its way (DNS flag day 2020). */
const maxUdpBytes = 1232
/** How many aliases an answer follows one after the other. */
const maxAliases = 10

const errorCodes: Readonly<Record<Exclude<QueryVerdict, 'ok' | 'drop'>, number>> = {
  formerr: rcode.FORMERR,
  notimp: rcode.NOTIMP,
  badvers: rcode.BADVERS,
}

/** An answer as it is counted. */
interface CountedAnswer {
  readonly plugin: string
  readonly flags: number
  readonly length: number
  readonly startedMs: number
}

/** The resolver of this thread. */
export interface LocalResolver {
  /** Asks the resolver of a server block. Undefined: `question.done` receives the resolution. */
  ask(block: string, question: ResolverQuestion): Resolution | undefined
  /** Notes that an upstream's message could not be written. */
  noteFailure(block: string, query: Query, error: unknown): void
}

export interface ResponderParts extends Pick<HandlerParts, 'resolve' | 'writeLog'> {
  /** Undefined on threads without a resolver. */
  readonly localResolver?: () => LocalResolver | undefined
}

/**
 * Answers questions on a serving thread. Answers from memory are written at once and allocate little; answers that have to wait for others are given
 * later, and no question waits for them.
 */
export class Responder {
  readonly #parts: ResponderParts
  readonly #query = new Query()
  readonly #sources = new SourceFilter([])
  readonly #dropped = new BlockCounts()
  #blocks: readonly ActiveBlock[] = []
  /** The block of the query for which `respondNow` last returned `resolver`. */
  #forwarding: ActiveBlock | undefined
  #panics = 0

  constructor(parts: ResponderParts) {
    this.#parts = parts
  }

  get sources(): SourceFilter {
    return this.#sources
  }

  configure({ blocks }: ServingSettings, tables: readonly SharedTable[]): void {
    const before = new Map(this.#blocks.map((block) => [block.settings.id, block]))
    const resolveTarget = (target: Buffer, question: Question) => this.#resolveTarget(target, question)
    const parts = { ...this.#parts, tables, resolveTarget }
    this.#blocks = blocks.map((settings) => new ActiveBlock(settings, parts, before.get(settings.id)))
  }

  changeTable(index: number, table: SharedTable): void {
    for (const block of this.#blocks) block.changeTable(index, table)
  }

  /** Answers the query in the first `length` bytes into `out`. Returns the length of the answer, or a code of `responderResult`. */
  respondNow(bytes: Buffer, length: number, client: Client, out: Buffer): number {
    const startedMs = performance.now()
    const query = this.#query
    const verdict = query.parse(bytes, length)
    if (verdict === 'drop') return responderResult.none
    if (verdict !== 'ok') return this.#refuse(query, client, out, errorCodes[verdict])
    const block = this.#route(query, client.listener)
    if (block === undefined || !this.#mayAsk(query, client, block))
      return this.#refuse(query, client, out, rcode.REFUSED)
    const limit = limitOf(query, client)
    for (const handler of block.immediate) {
      const answered = handler.answerNow(query, out, limit)
      if (answered === handlerResult.next) continue
      if (answered === handlerResult.later) return responderResult.later
      if (answered === handlerResult.resolver) return this.#leaveToResolver(block)
      return this.#finish(block, query, client, out, { plugin: handler.plugin, length: answered, startedMs })
    }
    const failed = writeError(query, out, rcode.SERVFAIL)
    return this.#finish(block, query, client, out, { plugin: '', length: failed, startedMs })
  }

  /** Answers a question for which `respondNow` returned `later`. Never rejects. */
  async respondLater(bytes: Buffer, client: Client): Promise<Buffer | undefined> {
    const startedMs = performance.now()
    const query = new Query()
    query.parse(bytes, bytes.length)
    const block = this.#route(query, client.listener)
    if (block === undefined) return undefined
    const { message, plugin } = await this.#answerSafely(block, {
      query,
      client,
      limit: limitOf(query, client),
      aliases: 0,
    })
    const flags = message === undefined ? 0 : readUint16(message, 2)
    this.#count(block, query, client, { plugin, flags, length: message?.length ?? 0, startedMs })
    if (block.isObserved) block.observe({ query, client, message, seconds: secondsSince(startedMs) })
    return message
  }

  /** Answers the datagram for which `respondNow` has just returned `resolver`, by the resolver of this thread. */
  forward(datagram: ForwardedDatagram): void {
    if (this.#forwarding !== undefined) this.#forward(this.#query.inCopy(datagram.bytes), datagram, this.#forwarding)
  }

  /** Answers a datagram for which `respondNow` returned `resolver` on another thread, by the resolver of this one. */
  forwardForOther(datagram: ForwardedDatagram): void {
    const query = new Query()
    if (query.parse(datagram.bytes, datagram.bytes.length) !== 'ok') return
    const block = this.#route(query, datagram.client.listener)
    if (block !== undefined) this.#forward(query, datagram, block)
  }

  #leaveToResolver(block: ActiveBlock): number {
    this.#forwarding = block
    return responderResult.resolver
  }

  #forward(query: Query, datagram: ForwardedDatagram, block: ActiveBlock): void {
    const question = new DatagramQuestion(query, { datagram, block }, this.#finishForwarded)
    const now = this.#askResolver(block.settings.id, question)
    if (now !== undefined) question.done(now)
  }

  /** Keeps a copy of a cached answer to a question that another thread answered. */
  keepCopy(block: string, question: Buffer, copy: CachedCopy): void {
    const query = new Query()
    if (query.parse(question, question.length) !== 'ok') return
    this.#blocks.find(({ settings }) => settings.id === block)?.keepCopy(query, copy)
  }

  /** Returns the answer that a client would get, with the plugin that gives it. */
  async explain(bytes: Buffer, client: Client): Promise<Answer | undefined> {
    const query = new Query()
    if (query.parse(bytes, bytes.length) !== 'ok') return undefined
    return this.#route(query, client.listener)?.answer({ query, client, limit: maxMessageLength, aliases: 0 })
  }

  *series(): Iterable<Series> {
    for (const { counts, settings, handlers } of this.#blocks) {
      yield* counts.series(settings)
      for (const handler of handlers) if (handler instanceof CacheHandler) yield* handler.copies.series(settings)
    }
    const server = this.#blocks[0]?.settings.server ?? 'dns://:53'
    yield* this.#dropped.series({ server, zones: [] })
    yield { kind: 'counter', name: 'coredns_panics_total', labels: {}, value: this.#panics }
  }

  /** Finds the block with the longest zone that holds the name. */
  #route(query: Query, { current }: Listener): ActiveBlock | undefined {
    let best: ActiveBlock | undefined
    let longest = -1
    for (const index of current.blocks) {
      const block = this.#blocks[index]
      for (const zone of block?.settings.zones ?? []) {
        if (zone.length <= longest || !query.isUnder(zone)) continue
        longest = zone.length
        best = block
      }
    }
    return best
  }

  #mayAsk(query: Query, { address, listener }: Client, { settings }: ActiveBlock): boolean {
    if (query.class !== recordClass.IN && !settings.forwards) return false
    return listener.current.access === 'all' || this.#sources.allows(address)
  }

  /** An upstream's message may break the format where it was not checked yet: that question gets SERVFAIL. */
  #answerSafely(block: ActiveBlock, question: Question): Answer | Promise<Answer> {
    const fail = () => {
      this.#panics += 1
      return serverFailure(question.query, '')
    }
    try {
      const answer = block.answer(question)
      return answer instanceof Promise ? answer.catch(fail) : answer
    } catch {
      return fail()
    }
  }

  async #resolveTarget(name: Buffer, { query, client, aliases }: Question): Promise<Buffer | undefined> {
    const target = new Query()
    const bytes = makeTargetQuery(query, name)
    if (aliases >= maxAliases || target.parse(bytes, bytes.length) !== 'ok') return undefined
    const block = this.#route(target, client.listener)
    const answer = await block?.answer({ query: target, client, limit: maxMessageLength, aliases: aliases + 1 })
    return answer?.message
  }

  #askResolver(block: string, question: DatagramQuestion): Resolution | undefined {
    try {
      const resolver = this.#parts.localResolver?.()
      return resolver === undefined ? failedResolution : resolver.ask(block, question)
    } catch {
      this.#panics += 1
      return failedResolution
    }
  }

  /** Writes and sends the answer to a datagram. One that cannot be written is SERVFAIL. */
  readonly #finishForwarded = (question: DatagramQuestion, resolution: Resolution): void => {
    const { query, datagram, block, startedMs } = question
    const { client, source, replies } = datagram
    const out = replies.answer
    const length = this.#writeResolution(question, resolution, out)
    const flags = length === 0 ? 0 : readUint16(out, 2)
    this.#count(block, query, client, { plugin: resolution.plugin, flags, length, startedMs })
    if (block.isObserved) {
      const message = length === 0 ? undefined : out.subarray(0, length)
      block.observe({ query, client, message, seconds: secondsSince(startedMs) })
    }
    if (length > 0) replies.reply(source, length)
    if (resolution.kind === 'message' && resolution.copy !== undefined) shareCopy(question, resolution.copy)
  }

  #writeResolution({ query, datagram, block }: DatagramQuestion, resolution: Resolution, out: Buffer): number {
    try {
      const length = writeAnswer(query, resolution, out, limitOf(query, datagram.client))
      if (length > 0 && block.rotates) rotateMessage(out, length)
      return length
    } catch (error) {
      this.#parts.localResolver?.()?.noteFailure(block.settings.id, query, error)
      return writeError(query, out, rcode.SERVFAIL)
    }
  }

  #refuse(query: Query, { transport, listener }: Client, out: Buffer, code: number): number {
    const length = writeError(query, out, code)
    this.#dropped.countRequest(transport, isIpv6(listener), query.type, query.length, query.dnssecOk)
    this.#dropped.countResponse(transport, '', code, length, 0)
    return length
  }

  #finish(
    block: ActiveBlock,
    query: Query,
    client: Client,
    out: Buffer,
    { plugin, length, startedMs }: Omit<CountedAnswer, 'flags'>,
  ): number {
    this.#count(block, query, client, { plugin, flags: readUint16(out, 2), length, startedMs })
    if (block.isObserved)
      block.observe({ query, client, message: out.subarray(0, length), seconds: secondsSince(startedMs) })
    return length
  }

  #count({ counts }: ActiveBlock, query: Query, { transport, listener }: Client, answered: CountedAnswer): void {
    const { plugin, flags, length, startedMs } = answered
    counts.countRequest(transport, isIpv6(listener), query.type, query.length, query.dnssecOk)
    counts.countResponse(transport, plugin, flags & 0xf, length, secondsSince(startedMs))
  }
}

const failedResolution: Resolution = { kind: 'code', plugin: 'forward', rcode: rcode.SERVFAIL, because: 'failed' }

function shareCopy({ query, datagram, block }: DatagramQuestion, copy: CachedCopy): void {
  if (datagram.giveCopy === undefined) block.keepCopy(query, copy)
  else if (block.settings.cache !== undefined)
    datagram.giveCopy({ block: block.settings.id, question: datagram.bytes, copy })
}

function secondsSince(startedMs: number): number {
  return (performance.now() - startedMs) / 1000
}

/** A socket takes only clients of its own family. */
function isIpv6({ current }: Listener): boolean {
  return current.address.includes(':')
}

function limitOf({ udpSize }: Query, { transport }: Client): number {
  return transport === 'tcp' ? maxMessageLength : Math.min(udpSize, maxUdpBytes)
}
