import type { MessagePort } from 'node:worker_threads'
import type { DatagramSweep } from '../../../host/datagrams/index.ts'
import type { Sampling } from '../../../observe/tracing/sampling.ts'
import { silentSpan, silentTracer, type Tracer } from '../../../observe/tracing/tracer.ts'
import type { Series } from '../metrics/series.ts'
import { FailureLog } from '../plugins/errors/failure-log.ts'
import { ForwardMetrics } from '../plugins/forward/metrics.ts'
import { startQuerySpan } from '../plugins/forward/query-span.ts'
import type { Resolve } from '../plugins/forward/resolve-request.ts'
import { describeTarget } from '../plugins/forward/upstream.ts'
import { LoopMetrics } from '../plugins/loop/metrics.ts'
import type { ResolvedBlock } from '../plugins/resolved-block.ts'
import type { Resolution, ResolverQuestion } from '../plugins/resolver-handler.ts'
import type { ResolverEvents } from '../plugins/resolver-handlers.ts'
import type { DatagramPlace } from '../resolver/batches.ts'
import { BlockResolver } from '../resolver/block-resolver.ts'
import { ResolveServer, type TakeDatagrams } from '../resolver/resolve-server.ts'
import type { LocalResolver } from '../serve/responder.ts'
import { rcode } from '../wire/codes.ts'
import type { Query } from '../wire/query.ts'
import { mainThreadLog, sendSpans } from './main-link.ts'
import { SpanOutbox } from './span-outbox.ts'

const log = mainThreadLog('resolver')

interface ActiveResolver {
  readonly settings: ResolvedBlock
  readonly resolver: BlockResolver
  readonly failures: FailureLog
}

/** One cache and one set of upstreams for each server block. One serving thread has them; the others ask that thread. */
export class Resolvers implements LocalResolver {
  readonly #metrics = { forward: new ForwardMetrics(), loop: new LoopMetrics() }
  readonly #events: Omit<ResolverEvents, 'onFailure'>
  readonly #servers = new Set<ResolveServer>()
  #places: readonly DatagramPlace[] = []
  readonly #outbox = new SpanOutbox(sendSpans)
  #tracer: Tracer = silentTracer
  #active: ReadonlyMap<string, ActiveResolver> = new Map()

  /** `sweep` reads the sockets of this thread. */
  constructor(sweep: DatagramSweep | undefined) {
    this.#events = { ...createEvents(this.#metrics, () => this.#tracer), sweep }
  }

  /** Resolves questions of this thread. */
  readonly resolve: Resolve = (question) => this.#active.get(question.block)?.resolver.resolve(question)

  /** Keeps unchanged blocks as they are, and the caches of changed ones. */
  configure(blocks: readonly ResolvedBlock[]): void {
    const before = this.#active
    const next = new Map<string, ActiveResolver>()
    for (const settings of blocks) {
      const known = before.get(settings.id)
      const isSame = known !== undefined && sameSettings(known.settings, settings)
      next.set(settings.id, isSame ? known : this.#start(settings, known?.resolver))
    }
    this.#active = next
    this.#metrics.forward.keepOnly(new Set(blocks.flatMap(upstreamsOf)))
    for (const [id, { resolver, failures }] of before) {
      if (next.get(id)?.resolver === resolver) continue
      resolver.retire()
      failures.close()
    }
  }

  /** Answers the questions of another serving thread. */
  connect(port: MessagePort, takeDatagrams: TakeDatagrams): void {
    const find = (block: string) => this.#active.get(block)?.resolver
    const onEnd = () => this.#servers.delete(server)
    const server = new ResolveServer(port, { find, takeDatagrams, onEnd })
    this.#servers.add(server)
    server.tellPlaces(this.#places)
  }

  /** Notes where this thread listens. */
  listenAt(places: readonly DatagramPlace[]): void {
    this.#places = places
    for (const server of this.#servers) server.tellPlaces(places)
  }

  /** Asks the resolver of a block for a datagram of this thread, or one that was handed over. */
  ask(block: string, question: ResolverQuestion): Resolution | undefined {
    const active = this.#active.get(block)
    return active === undefined ? noResolver : active.resolver.ask(question)
  }

  noteFailure(block: string, query: Query, error: unknown): void {
    this.#active.get(block)?.failures.logFailure(query, error)
  }

  /** Loads what makes spans: a thread that is not traced does without. */
  async trace(sampling: Sampling): Promise<void> {
    const { RecordingTracer } = await import('../../../observe/tracing/recording-tracer.ts')
    this.#tracer = new RecordingTracer(sampling, this.#outbox)
  }

  *series(): Iterable<Series> {
    yield* this.#metrics.forward.series()
    yield* this.#metrics.loop.series()
    for (const { resolver } of this.#active.values()) yield* resolver.series()
  }

  close(): void {
    this.#outbox.flush()
    for (const server of this.#servers) server.close()
    for (const { resolver, failures } of this.#active.values()) {
      failures.close()
      resolver.close()
    }
  }

  #start(settings: ResolvedBlock, before: BlockResolver | undefined): ActiveResolver {
    const failures = new FailureLog(settings.errors, log)
    const onFailure: ResolverEvents['onFailure'] = (query, error) => failures.logFailure(query, error)
    const resolver = new BlockResolver(settings, { ...this.#events, onFailure }, before)
    resolver.start()
    return { settings, resolver, failures }
  }
}

const noResolver: Resolution = { kind: 'code', plugin: 'forward', rcode: rcode.SERVFAIL, because: 'no-upstream' }

interface ResolverMetrics {
  readonly forward: ForwardMetrics
  readonly loop: LoopMetrics
}

function createEvents({ forward, loop }: ResolverMetrics, tracer: () => Tracer): Omit<ResolverEvents, 'onFailure'> {
  return {
    onReply: (upstream, seconds, rcode) => forward.countReply(upstream, seconds, rcode),
    onProbeFailure: (upstream) => forward.countProbeFailure(upstream),
    onConnection: (upstream, transport, reused) => forward.countConnection(upstream, transport, reused),
    onChange: ({ name, isDown }) =>
      log.warn(`an upstream of DNS is ${isDown ? 'down' : 'up again'}`, { upstream: name }),
    onBroken: () => forward.countBroken(),
    onRejected: () => forward.countRejected(),
    onLoop: (upstream) => {
      loop.countLoop()
      const remedy = 'name in the Corefile, or in /etc/resolv.conf of this node, servers that do not ask this one'
      log.error('queries to this upstream come back to this server: it is not asked any more', {
        upstream,
        remedy,
      })
    },
    startSpan: (query) => (tracer().isOn ? startQuerySpan(tracer(), query) : silentSpan),
    onLoopEnd: (upstream) => log.info('this upstream does not lead back here any more', { upstream }),
  }
}

function upstreamsOf({ forwards }: ResolvedBlock): readonly string[] {
  return forwards.flatMap(({ settings }) => settings.targets.map(describeTarget))
}

function sameSettings(a: ResolvedBlock, b: ResolvedBlock): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
