// The entry of the thread that resolves: one cache and one set of upstreams a server block, for all serving threads.
import type { Series } from '../metrics/series.ts'
import { FailureLog } from '../plugins/errors/failure-log.ts'
import { BlockResolver, type ResolverEvents } from '../resolver/block-resolver.ts'
import { ResolveServer } from '../resolver/resolve-server.ts'
import { cacheSeries, ResolverCounts } from '../resolver/resolver-counts.ts'
import type { ResolverSettings } from '../resolver/settings.ts'
import { serveMainThread, tellMainThread } from './main-link.ts'
import type { ResolverAnswers, ResolverRequest } from './messages.ts'
import { restoreBuffers } from './restore-buffers.ts'

interface ActiveResolver {
  readonly settings: ResolverSettings
  readonly resolver: BlockResolver
  readonly failures: FailureLog
}

const counts = new ResolverCounts()
const desks: ResolveServer[] = []
let active: ReadonlyMap<string, ActiveResolver> = new Map()

const events: Omit<ResolverEvents, 'onFailure'> = {
  onReply: (upstream, seconds, rcode) => counts.countReply(upstream, seconds, rcode),
  onProbeFailure: (upstream) => counts.countProbeFailure(upstream),
  onChannel: (upstream, transport, kept) => counts.countChannel(upstream, transport, kept),
  onChange: ({ name, isDown }) =>
    tellMainThread({
      level: 'warn',
      message: `an upstream of DNS is ${isDown ? 'down' : 'up again'}`,
      fields: { upstream: name },
    }),
  onBroken: () => counts.countBroken(),
  onRejected: () => counts.countRejected(),
  onLoop: (upstream) => {
    counts.countLoop()
    const remedy = 'name in the Corefile, or in /etc/resolv.conf of this node, servers that do not ask this one'
    const message = 'queries to this upstream come back to this server: it is not asked any more'
    tellMainThread({ level: 'error', message, fields: { upstream, remedy } })
  },
  onLoopEnd: (upstream) =>
    tellMainThread({ level: 'info', message: 'this upstream does not lead back here any more', fields: { upstream } }),
}

/** Unchanged blocks go on as they are; of changed ones the cache does. */
function configure(blocks: readonly ResolverSettings[]): undefined {
  const before = active
  const next = new Map<string, ActiveResolver>()
  for (const settings of blocks) {
    const known = before.get(settings.id)
    const isSame = known !== undefined && sameSettings(known.settings, settings)
    next.set(settings.id, isSame ? known : startResolver(settings, known?.resolver))
  }
  active = next
  for (const [id, { resolver, failures }] of before) {
    if (next.get(id)?.resolver === resolver) continue
    resolver.retire()
    failures.close()
  }
}

function startResolver(settings: ResolverSettings, before: BlockResolver | undefined): ActiveResolver {
  const failures = new FailureLog(settings.errors, tellMainThread)
  const onFailure: ResolverEvents['onFailure'] = (query, error) => failures.failed(query, error)
  const resolver = new BlockResolver(settings, { ...events, onFailure }, before)
  resolver.start()
  return { settings, resolver, failures }
}

function sameSettings(a: ResolverSettings, b: ResolverSettings): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

function* series(): Iterable<Series> {
  yield* counts.series()
  for (const { settings, resolver } of active.values()) yield* cacheSeries(settings, resolver)
}

type Handlers = {
  readonly [Kind in ResolverRequest['kind']]: (
    request: Extract<ResolverRequest, { readonly kind: Kind }>,
  ) => ResolverAnswers[Kind]
}

const handlers: Handlers = {
  configure: ({ blocks }) => configure(restoreBuffers(blocks)),
  connect: ({ port }) => void desks.push(new ResolveServer(port, (block) => active.get(block)?.resolver)),
  series: () => [...series()],
  close: () => {
    for (const desk of desks.splice(0)) desk.close()
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
