import { AnswerTable } from '../zone/answer-table.ts'
import type { SharedTable } from '../zone/layout.ts'
import { CacheHandler } from './cache/handler.ts'
import { ThreadAnswerCache } from './cache/thread-answer-cache.ts'
import { ForwardHandler } from './forward/handler.ts'
import type { Resolve } from './forward/resolve-request.ts'
import type { Handler } from './handler.ts'
import { HostsHandler } from './hosts/handler.ts'
import { KubernetesHandler } from './kubernetes/handler.ts'
import { OrderHandler, RotateHandler } from './loadbalance/handler.ts'
import { LogHandler } from './log/handler.ts'
import type { ResolveTarget } from './resolve-target.ts'
import { RewriteHandler } from './rewrite/handler.ts'
import type { ServedBlock } from './served-block.ts'
import { TemplateHandler } from './template/handler.ts'
import type { CountTemplate } from './template/metrics.ts'
import { TemplateAnswers } from './template/template-answers.ts'

/** The parts of a thread that the handlers of a block use. */
export interface HandlerParts {
  readonly tables: readonly (SharedTable | undefined)[]
  readonly resolve: Resolve
  readonly resolveTarget: ResolveTarget
  readonly countTemplate: CountTemplate
  readonly writeLog: (line: string) => void
  /** The handlers of the same block before a reload. */
  readonly before: readonly Handler[]
}

type CreateHandler = (block: ServedBlock, parts: HandlerParts) => Handler | undefined

/**
 * The handlers of a server block in the order in which a question passes them, whatever the order of their directives. It is the order of CoreDNS
 * but for `cache`, which stands after the plugins that answer from memory: only answers of upstreams are cached.
 */
const handlerOrder: readonly CreateHandler[] = [
  ({ log }, { writeLog }) => (log.length > 0 ? new LogHandler(log, writeLog) : undefined),
  ({ loadbalance }) => loadbalance && (loadbalance.order ? new OrderHandler(loadbalance.order) : new RotateHandler()),
  ({ rewrite }) => (rewrite.length > 0 ? new RewriteHandler(rewrite) : undefined),
  createTemplateHandler,
  ({ hosts }) => hosts && new HostsHandler(hosts),
  createKubernetesHandler,
  createCacheHandler,
  createForwardHandler,
]

/** Creates the handlers of a block in their order. */
export function createHandlers(block: ServedBlock, parts: HandlerParts): readonly Handler[] {
  return handlerOrder.flatMap((create) => create(block, parts) ?? [])
}

/** Opens the table of the block's `kubernetes`; undefined where the block has none. */
export function openTable(block: ServedBlock, tables: HandlerParts['tables']): AnswerTable | undefined {
  const table = block.kubernetes && tables[block.kubernetes.table]
  const rotate = block.loadbalance !== undefined
  return table && new AnswerTable(table, { rotate, seed: 1 + Math.floor(Math.random() * 0x7fff_fffe) })
}

function createTemplateHandler({ template }: ServedBlock, parts: HandlerParts): Handler | undefined {
  if (template.length === 0) return undefined
  return new TemplateHandler(new TemplateAnswers(template, parts.countTemplate), parts.resolveTarget)
}

function createKubernetesHandler(block: ServedBlock, parts: HandlerParts): Handler | undefined {
  return block.kubernetes && new KubernetesHandler(openTable(block, parts.tables), parts.resolveTarget)
}

/** A reload keeps the counts of the copies, not the copies: the cache may be configured otherwise. */
function createCacheHandler({ cache, loadbalance }: ServedBlock, { before }: HandlerParts): Handler | undefined {
  const known = before.find((handler) => handler instanceof CacheHandler)
  return cache && new CacheHandler(new ThreadAnswerCache(cache, known?.copies), loadbalance !== undefined)
}

function createForwardHandler({ forwards, id, cache }: ServedBlock, { resolve }: HandlerParts): Handler | undefined {
  return forwards ? new ForwardHandler({ block: id, wantsCopy: cache !== undefined }, resolve) : undefined
}
