// The entry of the resolver thread: one cache and one set of upstreams for each server block, shared by all serving threads.

import type { Sampling } from '../../../observe/tracing/sampling.ts'
import { silentSpan, silentTracer, type Tracer } from '../../../observe/tracing/tracer.ts'
import type { Series } from '../metrics/series.ts'
import { FailureLog } from '../plugins/errors/failure-log.ts'
import { ForwardMetrics } from '../plugins/forward/metrics.ts'
import { startQuerySpan } from '../plugins/forward/query-span.ts'
import { describeTarget } from '../plugins/forward/upstream.ts'
import { LoopMetrics } from '../plugins/loop/metrics.ts'
import type { ResolvedBlock } from '../plugins/resolved-block.ts'
import type { ResolverEvents } from '../plugins/resolver-handlers.ts'
import { BlockResolver } from '../resolver/block-resolver.ts'
import { ResolveServer } from '../resolver/resolve-server.ts'
import { mainThreadLog, sendSpans, serveMainThread } from './main-link.ts'
import type { ResolverAnswers, ResolverRequest } from './messages.ts'
import { restoreBuffers } from './restore-buffers.ts'
import { SpanOutbox } from './span-outbox.ts'

interface ActiveResolver {
  readonly settings: ResolvedBlock
  readonly resolver: BlockResolver
  readonly failures: FailureLog
}

const metrics = { forward: new ForwardMetrics(), loop: new LoopMetrics() }
const servers: ResolveServer[] = []
const outbox = new SpanOutbox(sendSpans)
let tracer: Tracer = silentTracer
let active: ReadonlyMap<string, ActiveResolver> = new Map()

const events: Omit<ResolverEvents, 'onFailure'> = {
  onReply: (upstream, seconds, rcode) => metrics.forward.countReply(upstream, seconds, rcode),
  onProbeFailure: (upstream) => metrics.forward.countProbeFailure(upstream),
  onConnection: (upstream, transport, reused) => metrics.forward.countConnection(upstream, transport, reused),
  onChange: ({ name, isDown }) =>
    mainThreadLog.warn(`an upstream of DNS is ${isDown ? 'down' : 'up again'}`, { upstream: name }),
  onBroken: () => metrics.forward.countBroken(),
  onRejected: () => metrics.forward.countRejected(),
  onLoop: (upstream) => {
    metrics.loop.countLoop()
    const remedy = 'name in the Corefile, or in /etc/resolv.conf of this node, servers that do not ask this one'
    mainThreadLog.error('queries to this upstream come back to this server: it is not asked any more', {
      upstream,
      remedy,
    })
  },
  startSpan: (query) => (tracer.isOn ? startQuerySpan(tracer, query) : silentSpan),
  onLoopEnd: (upstream) => mainThreadLog.info('this upstream does not lead back here any more', { upstream }),
}

/** Loads what makes spans: a thread that is not traced does without. */
async function trace(sampling: Sampling): Promise<undefined> {
  const { RecordingTracer } = await import('../../../observe/tracing/recording-tracer.ts')
  tracer = new RecordingTracer(sampling, outbox)
}

/** Keeps unchanged blocks as they are, and the caches of changed ones. */
function configure(blocks: readonly ResolvedBlock[]): undefined {
  const before = active
  const next = new Map<string, ActiveResolver>()
  for (const settings of blocks) {
    const known = before.get(settings.id)
    const isSame = known !== undefined && sameSettings(known.settings, settings)
    next.set(settings.id, isSame ? known : startResolver(settings, known?.resolver))
  }
  active = next
  metrics.forward.keepOnly(new Set(blocks.flatMap(upstreamsOf)))
  for (const [id, { resolver, failures }] of before) {
    if (next.get(id)?.resolver === resolver) continue
    resolver.retire()
    failures.close()
  }
}

function upstreamsOf({ forwards }: ResolvedBlock): readonly string[] {
  return forwards.flatMap(({ settings }) => settings.targets.map(describeTarget))
}

function startResolver(settings: ResolvedBlock, before: BlockResolver | undefined): ActiveResolver {
  const failures = new FailureLog(settings.errors, mainThreadLog)
  const onFailure: ResolverEvents['onFailure'] = (query, error) => failures.logFailure(query, error)
  const resolver = new BlockResolver(settings, { ...events, onFailure }, before)
  resolver.start()
  return { settings, resolver, failures }
}

function sameSettings(a: ResolvedBlock, b: ResolvedBlock): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

function* series(): Iterable<Series> {
  yield* metrics.forward.series()
  yield* metrics.loop.series()
  for (const { resolver } of active.values()) yield* resolver.series()
}

type Handlers = {
  readonly [Kind in ResolverRequest['kind']]: (
    request: Extract<ResolverRequest, { readonly kind: Kind }>,
  ) => ResolverAnswers[Kind] | Promise<ResolverAnswers[Kind]>
}

const handlers: Handlers = {
  configure: ({ blocks }) => configure(restoreBuffers(blocks)),
  trace: ({ sampling }) => trace(sampling),
  connect: ({ port }) => void servers.push(new ResolveServer(port, (block) => active.get(block)?.resolver)),
  series: () => [...series()],
  close: () => {
    outbox.flush()
    for (const server of servers.splice(0)) server.close()
    for (const { resolver, failures } of active.values()) {
      failures.close()
      resolver.close()
    }
  },
}

serveMainThread<ResolverRequest>((request) => {
  const handle = handlers[request.kind] as (request: ResolverRequest) => unknown
  return handle(request)
})
