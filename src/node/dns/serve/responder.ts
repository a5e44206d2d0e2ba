import type { Series } from '../metrics/series.ts'
import { ThreadAnswerCache } from '../plugins/cache/thread-answer-cache.ts'
import { AnswerOrder } from '../plugins/loadbalance/answer-order.ts'
import { rotateAddresses } from '../plugins/loadbalance/order.ts'
import { type AnsweredQuestion, renderLogLine } from '../plugins/log/query-log.ts'
import type { ResolveClient } from '../resolver/resolve-client.ts'
import { tellMainThread } from '../threads/main-link.ts'
import type { Explanation } from '../threads/messages.ts'
import { readUint16 } from '../wire/bytes.ts'
import { rcode, recordClass, recordType } from '../wire/codes.ts'
import { readMessage } from '../wire/message.ts'
import { isUnder } from '../wire/name.ts'
import { Query, type QueryVerdict } from '../wire/query.ts'
import type { DnsRecord } from '../wire/record.ts'
import { type Reply, writeError, writeReply } from '../wire/response.ts'
import { AnswerTable, noAnswer } from '../zone/answer-table.ts'
import { askForTarget, joinAlias } from '../zone/external-name.ts'
import type { SharedTable } from '../zone/layout.ts'
import { BlockCounts, type Transport } from './block-counts.ts'
import { type Chain, createChain } from './chain.ts'
import type { Listener, ServedBlock, ServingSettings } from './settings.ts'
import { SourceFilter } from './source-filter.ts'

/** Who asks, and where. */
export interface Client {
  readonly address: string
  readonly port: number
  readonly transport: Transport
  readonly listener: Listener
}

/** The answer comes from `respondLater`. */
export const later = -1

/** An answer over UDP is never larger, so that it is not split on its way (DNS flag day 2020). */
const maxUdpBytes = 1232
const maxTcpBytes = 65_535
/** How many names an answer follows one after the other. */
const maxAliasLinks = 10
/** Room for an answer that is only an rcode: question, OPT, echoed options. */
const errorBytes = 1024

interface ActiveBlock {
  readonly settings: ServedBlock
  readonly table: AnswerTable | undefined
  readonly chain: Chain | undefined
  readonly order: AnswerOrder | undefined
  readonly threadCache: ThreadAnswerCache | undefined
  readonly counts: BlockCounts
}

/** How large the answer may be, and how many names have been followed to it. */
interface Bounds {
  readonly limit: number
  readonly links: number
}

type Outcome = Omit<Explanation, 'message'> & { readonly message: Buffer | undefined }

const errorCodes: Readonly<Record<Exclude<QueryVerdict, 'ok' | 'drop'>, number>> = {
  formerr: rcode.FORMERR,
  notimp: rcode.NOTIMP,
  badvers: rcode.BADVERS,
}

/**
 * Answers questions on a serving thread. What is in memory is answered at once and without waste; what has to be asked for elsewhere
 * is answered later, and nothing waits for it.
 */
export class Responder {
  readonly #line: ResolveClient
  readonly #query = new Query()
  readonly #sources = new SourceFilter([])
  readonly #dropped = new BlockCounts()
  #blocks: readonly ActiveBlock[] = []
  /** The plugin of the answer that `#answerFromMemory` gave last. */
  #answeredBy: 'kubernetes' | 'cache' = 'kubernetes'
  #panics = 0

  constructor(line: ResolveClient) {
    this.#line = line
  }

  get sources(): SourceFilter {
    return this.#sources
  }

  configure({ blocks }: ServingSettings, tables: readonly SharedTable[]): void {
    const before = new Map(this.#blocks.map((block) => [block.settings.id, block]))
    this.#blocks = blocks.map((settings) => {
      const counts = before.get(settings.id)?.counts ?? new BlockCounts()
      return {
        settings,
        table: openTable(settings, settings.table === undefined ? undefined : tables[settings.table]),
        chain: createChain(settings.chain, (name, labels) => counts.countNamed(`coredns_template_${name}`, labels)),
        order: settings.rotate ? new AnswerOrder(settings.order) : undefined,
        threadCache:
          settings.threadCache && new ThreadAnswerCache(settings.threadCache, before.get(settings.id)?.threadCache),
        counts,
      }
    })
  }

  changeTable(index: number, table: SharedTable): void {
    this.#blocks = this.#blocks.map((block) =>
      block.settings.table === index ? { ...block, table: openTable(block.settings, table) } : block,
    )
  }

  /** Answers the first `length` bytes into `out`: how long that is, 0 where there is no answer, `later` where it takes waiting. */
  respondNow(bytes: Buffer, length: number, client: Client, out: Buffer): number {
    const startedMs = performance.now()
    const query = this.#query
    const verdict = query.parse(bytes, length)
    if (verdict === 'drop') return 0
    if (verdict !== 'ok') return this.#refuse(query, client, out, errorCodes[verdict])
    const block = this.#route(query, client.listener)
    if (block === undefined || !this.#mayAsk(query, client, block))
      return this.#refuse(query, client, out, rcode.REFUSED)
    const answered = this.#answerFromMemory(block, query, out, limitOf(query, client))
    if (answered === later) return later
    const plugin = this.#answeredBy
    this.#count(block, query, client, { plugin, flags: readUint16(out, 2), length: answered, startedMs })
    if (block.settings.log.length > 0)
      logAnswer(block, { query, client, message: out.subarray(0, answered), startedMs })
    return answered
  }

  /** The answer to a question for which `respondNow` gave `later`. Never rejects. */
  async respondLater(bytes: Buffer, client: Client): Promise<Buffer | undefined> {
    const startedMs = performance.now()
    const query = new Query()
    query.parse(bytes, bytes.length)
    const block = this.#route(query, client.listener)
    if (block === undefined) return undefined
    const { message, plugin } = await this.#handleSafely(block, query, client)
    const flags = message === undefined ? 0 : readUint16(message, 2)
    const answered = { plugin, flags, length: message?.length ?? 0, startedMs }
    this.#count(block, query, client, answered)
    if (block.settings.log.length > 0) logAnswer(block, { query, client, message, startedMs })
    return message
  }

  /** What would be answered, and by whom. */
  async explain(bytes: Buffer, client: Client): Promise<Outcome | undefined> {
    const query = new Query()
    if (query.parse(bytes, bytes.length) !== 'ok') return undefined
    const block = this.#route(query, client.listener)
    return block && this.#handleRewritten(block, query, client, { limit: maxTcpBytes, links: 0 })
  }

  *series(): Iterable<Series> {
    for (const { counts, settings, threadCache } of this.#blocks) {
      yield* counts.series(settings)
      if (threadCache) yield* threadCache.series(settings)
    }
    const server = this.#blocks[0]?.settings.server ?? 'dns://:53'
    yield* this.#dropped.series({ server, zones: [] })
    yield { kind: 'counter', name: 'coredns_panics_total', labels: {}, value: this.#panics }
  }

  /** The block with the longest zone that holds the name. */
  #route({ name }: Query, { current }: Listener): ActiveBlock | undefined {
    let best: ActiveBlock | undefined
    let longest = -1
    for (const index of current.blocks) {
      const block = this.#blocks[index]
      for (const zone of block?.settings.zones ?? []) {
        if (zone.length <= longest || !isUnder(name, zone)) continue
        longest = zone.length
        best = block
      }
    }
    return best
  }

  #mayAsk(query: Query, { address, listener }: Client, { settings }: ActiveBlock): boolean {
    if (query.class !== recordClass.IN && !settings.forwards) return false
    return listener.current.access === 'everybody' || this.#sources.allows(address)
  }

  #answerFromMemory(block: ActiveBlock, query: Query, out: Buffer, limit: number): number {
    const { table, settings, chain, order } = block
    this.#answeredBy = 'kubernetes'
    if (chain !== undefined || order?.concernsOwn) return later
    const length = table === undefined ? noAnswer.nextPlugin : table.answer(query, out, limit)
    if (length > 0) return length
    if (length === noAnswer.externalName) return later
    return settings.resolves
      ? this.#answerFromThreadCache(block, query, out, limit)
      : writeError(query, out, rcode.SERVFAIL)
  }

  #answerFromThreadCache({ threadCache, order }: ActiveBlock, query: Query, out: Buffer, limit: number): number {
    const found = threadCache?.answer(query, out, limit)
    if (found === undefined) return later
    this.#answeredBy = 'cache'
    if (order) rotateAddresses(out, found.length, found.layout, Math.random)
    return found.length
  }

  /** What an upstream sends may break the format where nobody has looked yet. */
  async #handleSafely(block: ActiveBlock, query: Query, client: Client): Promise<Outcome> {
    try {
      const limit = limitOf(query, client)
      const outcome = await this.#handleRewritten(block, query, client, { limit, links: 0 })
      const { message, plugin } = outcome
      if (message === undefined || block.order === undefined) return outcome
      return { ...outcome, message: block.order.arrange(query, message, plugin, limit) }
    } catch {
      this.#panics += 1
      return failure(query, '')
    }
  }

  /** As another question, where a rule says so; the answer is turned back to this one. */
  async #handleRewritten(block: ActiveBlock, query: Query, client: Client, bounds: Bounds): Promise<Outcome> {
    const rewritten = block.chain?.rewriter?.rewrite(query)
    if (rewritten === undefined) return this.#handle(block, query, client, bounds)
    const changed = new Query()
    if (changed.parse(rewritten.bytes, rewritten.bytes.length) !== 'ok') return failure(query, 'rewrite')
    const outcome = await this.#handle(block, changed, client, { ...bounds, limit: maxTcpBytes })
    const { message } = outcome
    if (message === undefined) return outcome
    const reply = rewritten.restore(readMessage(message, message.length))
    return { ...outcome, message: render(query, reply, bounds.limit) }
  }

  async #handle(block: ActiveBlock, query: Query, client: Client, { limit, links }: Bounds): Promise<Outcome> {
    const known = block.chain?.answer(query, client.address)
    if (known) {
      const reply = await this.#addTargets(known.reply, query, client, links)
      return { plugin: known.plugin, ageMs: 0, message: render(query, reply, limit) }
    }
    const out = Buffer.allocUnsafe(Math.max(limit, errorBytes))
    const length = block.table?.answer(query, out, limit) ?? noAnswer.nextPlugin
    if (length > 0) return { plugin: 'kubernetes', ageMs: 0, message: out.subarray(0, length) }
    if (length === noAnswer.externalName) return this.#followAlias(block, query, client, { limit, links })
    if (!block.settings.resolves) return failure(query, '')
    const { address, transport } = client
    const question = query.bytes.subarray(0, query.length)
    const wantsCopy = block.threadCache !== undefined
    const errand = {
      block: block.settings.id,
      question,
      client: address,
      overTcp: transport === 'tcp',
      limit,
      wantsCopy,
    }
    const result = await this.#line.run(errand)
    if (result === undefined) return failure(query, 'forward')
    if (result.kept) block.threadCache?.put(query, result.kept)
    const message = result.message && Buffer.from(result.message.buffer)
    return { plugin: result.plugin, ageMs: result.ageMs, message }
  }

  /** An ExternalName Service: its target is asked for as the client would. */
  async #followAlias(block: ActiveBlock, query: Query, client: Client, { limit, links }: Bounds): Promise<Outcome> {
    const alias = block.table?.alias(query)
    if (alias === undefined) return failure(query, 'kubernetes')
    const message = await this.#askTarget(alias.data, query, client, links)
    const reply = joinAlias(alias, message && { bytes: message, length: message.length })
    return { plugin: 'kubernetes', ageMs: 0, message: render(query, reply, limit) }
  }

  /** A template may make an alias: the addresses of its target follow it. */
  async #addTargets(reply: Reply, query: Query, client: Client, links: number): Promise<Reply> {
    const wantsAddresses = query.type === recordType.A || query.type === recordType.AAAA
    if (!wantsAddresses || !reply.answer.some(({ type }) => type === recordType.CNAME)) return reply
    const answer: DnsRecord[] = []
    for (const record of reply.answer) {
      answer.push(record)
      if (record.type !== recordType.CNAME) continue
      const target = await this.#askTarget(record.data, query, client, links)
      if (target) answer.push(...readMessage(target, target.length).answer)
    }
    return { ...reply, answer }
  }

  /** The client's question about another name, as if the client had asked it; undefined where nobody can be asked. */
  async #askTarget(name: Buffer, query: Query, client: Client, links: number): Promise<Buffer | undefined> {
    const target = new Query()
    const bytes = askForTarget(query, name)
    if (links >= maxAliasLinks || target.parse(bytes, bytes.length) !== 'ok') return undefined
    const block = this.#route(target, client.listener)
    const bounds = { limit: maxTcpBytes, links: links + 1 }
    return block && (await this.#handleRewritten(block, target, client, bounds)).message
  }

  #refuse(query: Query, { transport, listener }: Client, out: Buffer, code: number): number {
    const length = writeError(query, out, code)
    this.#dropped.countRequest(transport, isIpv6(listener), query.type, query.length, query.dnssecOk)
    this.#dropped.countResponse(transport, '', code, length, 0)
    return length
  }

  #count(
    { counts }: ActiveBlock,
    query: Query,
    client: Client,
    answered: { readonly plugin: string; readonly flags: number; readonly length: number; readonly startedMs: number },
  ): void {
    const { transport, listener } = client
    counts.countRequest(transport, isIpv6(listener), query.type, query.length, query.dnssecOk)
    const seconds = (performance.now() - answered.startedMs) / 1000
    counts.countResponse(transport, answered.plugin, answered.flags & 0xf, answered.length, seconds)
  }
}

/** Sockets take clients of their own family only. */
function isIpv6({ current }: Listener): boolean {
  return current.address.includes(':')
}

function logAnswer(
  { settings }: ActiveBlock,
  { startedMs, ...answered }: Omit<AnsweredQuestion, 'seconds'> & { readonly startedMs: number },
): void {
  const line = renderLogLine(settings.log, { ...answered, seconds: (performance.now() - startedMs) / 1000 })
  if (line !== undefined) tellMainThread({ level: 'info', message: line, fields: {} })
}

function limitOf({ udpSize }: Query, { transport }: Client): number {
  return transport === 'tcp' ? maxTcpBytes : Math.min(udpSize, maxUdpBytes)
}

function render(query: Query, reply: Reply, limit: number): Buffer {
  const out = Buffer.allocUnsafe(Math.max(limit, errorBytes))
  return out.subarray(0, writeReply(query, reply, out, limit))
}

function failure(query: Query, plugin: string): Outcome {
  const out = Buffer.allocUnsafe(errorBytes)
  return { plugin, ageMs: 0, message: out.subarray(0, writeError(query, out, rcode.SERVFAIL)) }
}

function openTable({ rotate }: ServedBlock, table: SharedTable | undefined): AnswerTable | undefined {
  return table && new AnswerTable(table, { rotate, seed: 1 + Math.floor(Math.random() * 0x7fff_fffe) })
}
