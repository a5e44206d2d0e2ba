// The entry of the thread that resolves: one cache and one set of upstreams a server block, for all serving threads.
import { describeError } from '../../../model/errors.ts'
import type { Series } from '../metrics/series.ts'
import { serveMainThread, tellMainThread } from '../threads/main-link.ts'
import type { ResolverAnswers, ResolverRequest } from '../threads/messages.ts'
import { reviveBuffers } from '../threads/revive.ts'
import { typeName } from '../wire/codes.ts'
import { nameText } from '../wire/name.ts'
import type { Query } from '../wire/query.ts'
import { BlockResolver, type ResolverEvents } from './block-resolver.ts'
import { ErrandDesk } from './errand-desk.ts'
import { cacheSeries, ResolverCounts } from './resolver-counts.ts'
import type { ResolverSettings } from './settings.ts'

interface ActiveResolver {
  readonly settings: ResolverSettings
  readonly resolver: BlockResolver
}

const maxFailureLinesPerSecond = 10
const counts = new ResolverCounts()
const desks: ErrandDesk[] = []
let active: ReadonlyMap<string, ActiveResolver> = new Map()
let failureLines = { second: 0, count: 0 }

const events: ResolverEvents = {
  onReply: (upstream, seconds, rcode) => counts.countReply(upstream, seconds, rcode),
  onProbeFailure: (upstream) => counts.countProbeFailure(upstream),
  onChange: ({ name, isDown }) =>
    tellMainThread({
      level: 'warn',
      message: `an upstream of DNS is ${isDown ? 'down' : 'up again'}`,
      fields: { upstream: name },
    }),
  onBroken: () => counts.countBroken(),
  onRejected: () => counts.countRejected(),
  onFailure: tellFailure,
  onLoop: (upstream) => {
    counts.countLoop()
    const remedy = 'name in the Corefile, or in /etc/resolv.conf of this node, servers that do not ask this one'
    const message = 'queries to this upstream come back to this server: it is not asked any more'
    tellMainThread({ level: 'error', message, fields: { upstream, remedy } })
  },
  onLoopEnd: (upstream) =>
    tellMainThread({ level: 'info', message: 'this upstream does not lead back here any more', fields: { upstream } }),
}

/** As many lines as somebody can read; the others are counted in the metrics. */
function tellFailure(query: Query, error: unknown): void {
  const second = Math.floor(performance.now() / 1000)
  failureLines = second === failureLines.second ? { second, count: failureLines.count + 1 } : { second, count: 1 }
  if (failureLines.count > maxFailureLinesPerSecond) return
  const fields = { name: nameText(query.name), type: typeName(query.type), error: describeError(error) }
  tellMainThread({ level: 'warn', message: 'a question was answered with SERVFAIL', fields })
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
  for (const [id, { resolver }] of before) if (next.get(id)?.resolver !== resolver) resolver.retire()
}

function startResolver(settings: ResolverSettings, before: BlockResolver | undefined): ActiveResolver {
  const resolver = new BlockResolver(settings, events, before)
  resolver.start()
  return { settings, resolver }
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
  configure: ({ blocks }) => configure(reviveBuffers(blocks)),
  connect: ({ port }) => void desks.push(new ErrandDesk(port, (block) => active.get(block)?.resolver)),
  series: () => [...series()],
  close: () => {
    for (const desk of desks.splice(0)) desk.close()
    for (const { resolver } of active.values()) resolver.close()
  },
}

serveMainThread<ResolverRequest>((request) => {
  const handle = handlers[request.kind] as (request: ResolverRequest) => unknown
  return handle(request)
})
