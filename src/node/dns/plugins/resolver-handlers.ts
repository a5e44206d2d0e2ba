import { CacheResolverHandler } from './cache/resolver-handler.ts'
import { type ForwarderEvents, ForwardList } from './forward/forward-list.ts'
import { type ForwardHandlerEvents, ForwardResolverHandler } from './forward/resolver-handler.ts'
import { type LoopHandlerEvents, LoopResolverHandler } from './loop/resolver-handler.ts'
import type { ResolvedBlock } from './resolved-block.ts'
import type { ResolverHandler } from './resolver-handler.ts'

export interface ResolverEvents extends ForwarderEvents, ForwardHandlerEvents, LoopHandlerEvents {}

/** The inputs of the handlers of a block in addition to its settings. */
interface ResolverParts {
  readonly forwards: ForwardList
  readonly events: ResolverEvents
  /** The handlers of the same block before a reload. */
  readonly before: readonly ResolverHandler[]
}

type CreateHandler = (block: ResolvedBlock, parts: ResolverParts) => ResolverHandler | undefined

/** The handlers of a server block in the resolver, in the order in which a question passes them. */
const handlerOrder: readonly CreateHandler[] = [
  ({ loopZone }, { forwards, events }) => loopZone && new LoopResolverHandler(loopZone, forwards.upstreams, events),
  ({ cache }, { forwards, before }) => cache && new CacheResolverHandler(cache, forwards, findCache(before)),
  (_, { forwards, events }) => new ForwardResolverHandler(forwards, events),
]

/** Creates the handlers of a block in their order. */
export function createResolverHandlers(
  block: ResolvedBlock,
  events: ResolverEvents,
  before: readonly ResolverHandler[],
): readonly ResolverHandler[] {
  const parts = { forwards: new ForwardList(block.forwards, events), events, before }
  return handlerOrder.flatMap((create) => create(block, parts) ?? [])
}

function findCache(handlers: readonly ResolverHandler[]): CacheResolverHandler | undefined {
  return handlers.find((handler) => handler instanceof CacheResolverHandler)
}
