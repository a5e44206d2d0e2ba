import type { AnswerCache } from '../../src/node/dns/plugins/cache/answer-cache.ts'
import { CacheResolverHandler } from '../../src/node/dns/plugins/cache/resolver-handler.ts'
import type { CacheSettings } from '../../src/node/dns/plugins/cache/settings.ts'
import type { ConsolidateRule } from '../../src/node/dns/plugins/errors/settings.ts'
import type { ForwardSettings, UpstreamTarget } from '../../src/node/dns/plugins/forward/settings.ts'
import type { Answer } from '../../src/node/dns/plugins/handler.ts'
import type { ResolvedBlock } from '../../src/node/dns/plugins/resolved-block.ts'
import { BlockResolver } from '../../src/node/dns/resolver/block-resolver.ts'
import { encodeName } from '../../src/node/dns/wire/name.ts'
import { type QuestionShape, queryOf, type SeenAnswer, seeAnswer } from './upstream-messages.ts'

const root = encodeName('.')

const forwardDefaults: Omit<ForwardSettings, 'targets'> = {
  policy: 'sequential',
  forceTcp: false,
  preferUdp: false,
  expireMs: 10_000,
  maxAgeMs: 0,
  readTimeoutMs: 2_000,
  maxFails: 2,
  healthCheck: { intervalMs: 20, recursion: true, domain: '.' },
  maxConcurrent: 1000,
  failover: [],
  failfastAllUnhealthy: false,
}

const side = { capacity: 9984, maxTtlSeconds: 3600, minTtlSeconds: 0, disabledZones: [] }

export const cacheDefaults: CacheSettings = {
  success: side,
  denial: { ...side, maxTtlSeconds: 1800 },
  prefetch: undefined,
  serveStale: undefined,
  servfailMs: 5_000,
  keepTtl: false,
}

export interface ResolverShape {
  readonly targets: readonly UpstreamTarget[]
  readonly forward?: Partial<ForwardSettings>
  readonly cache?: Partial<CacheSettings> | false
  readonly loop?: boolean
  readonly consolidate?: readonly ConsolidateRule[]
  /** Rcodes of the first `forward` that are for the next one. */
  readonly next?: readonly number[]
  /** The targets of further ones. */
  readonly others?: readonly (readonly UpstreamTarget[])[]
}

export function resolverSettings(shape: ResolverShape): ResolvedBlock {
  const { targets, forward, cache, loop, next = [], others = [] } = shape
  const rule = (to: readonly UpstreamTarget[], handsOn: readonly number[]) => ({
    from: root,
    except: [],
    next: handsOn,
    nextOnNodata: false,
    settings: { ...forwardDefaults, ...forward, targets: to },
  })
  return {
    id: '.:53',
    server: 'dns://:53',
    cache: cache === false ? undefined : { zones: [root], settings: { ...cacheDefaults, ...cache } },
    forwards: [rule(targets, next), ...others.map((to) => rule(to, []))],
    errors: { stacktrace: false, consolidate: shape.consolidate ?? [] },
    loopZone: loop === true ? root : undefined,
  }
}

/** A resolver whose events are kept by name, in order. */
export class TestResolver {
  readonly events: string[] = []
  resolver: BlockResolver

  constructor(shape: ResolverShape) {
    this.resolver = this.#make(shape)
  }

  /** The answers that the resolver holds; undefined without a cache. */
  get cache(): AnswerCache | undefined {
    return this.resolver.handlers.find((handler) => handler instanceof CacheResolverHandler)?.answers
  }

  /** As a reload does it. */
  change(shape: ResolverShape): void {
    const before = this.resolver
    this.resolver = this.#make(shape, before)
    before.close()
  }

  #make(shape: ResolverShape, before?: BlockResolver): BlockResolver {
    const note = (event: string) => () => void this.events.push(event)
    const made = new BlockResolver(
      resolverSettings(shape),
      {
        onReply: () => {},
        onProbeFailure: note('probe failed'),
        onConnection: () => {},
        onChange: ({ name, isDown }) => void this.events.push(`${name} is ${isDown ? 'down' : 'up'}`),
        onBroken: note('broken'),
        onRejected: note('rejected'),
        onFailure: (_, error) => void this.events.push(`failed: ${error instanceof Error ? error.message : error}`),
        onLoop: (name) => void this.events.push(`${name} loops`),
        onLoopEnd: (name) => void this.events.push(`${name} loops no longer`),
      },
      before,
    )
    made.start()
    return made
  }

  /** Asks as a client over UDP whose answer may have 1232 bytes. */
  async resolve(name: string, shape: QuestionShape & { readonly client?: string } = {}): Promise<Answer> {
    return this.resolver.resolve({
      query: queryOf(name, shape),
      client: shape.client ?? '192.0.2.1',
      overTcp: false,
      limit: 1232,
    })
  }

  async ask(name: string, shape: QuestionShape & { readonly client?: string } = {}): Promise<SeenAnswer> {
    const { message } = await this.resolve(name, shape)
    if (message === undefined) throw new Error(`${name} got no answer`)
    return seeAnswer(message)
  }
}
