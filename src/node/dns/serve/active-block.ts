import { CacheHandler } from '../plugins/cache/handler.ts'
import {
  type Answer,
  type AnsweredQuestion,
  type CachedCopy,
  type Handler,
  type Question,
  serverFailure,
} from '../plugins/handler.ts'
import { createHandlers, type HandlerParts, openTable } from '../plugins/handlers.ts'
import { KubernetesHandler } from '../plugins/kubernetes/handler.ts'
import { RotateHandler } from '../plugins/loadbalance/handler.ts'
import { BlockCounts } from '../plugins/prometheus/metrics.ts'
import type { ServedBlock } from '../plugins/served-block.ts'
import type { Query } from '../wire/query.ts'
import type { SharedTable } from '../zone/layout.ts'

type WithMethod<Method extends keyof Handler> = Handler & Required<Pick<Handler, Method>>

/** A server block on a serving thread: its handlers in order, and its counts. */
export class ActiveBlock {
  readonly settings: ServedBlock
  readonly counts: BlockCounts
  readonly handlers: readonly Handler[]
  /** The handlers that take part in answers from memory. */
  readonly immediate: readonly WithMethod<'answerNow'>[]
  readonly #waiting: readonly WithMethod<'answer'>[]
  readonly #observers: readonly WithMethod<'onAnswered'>[]
  readonly #rotates: boolean
  readonly #cache: CacheHandler | undefined

  /** `before`: the same block before a reload. */
  constructor(settings: ServedBlock, parts: Omit<HandlerParts, 'before' | 'countTemplate'>, before?: ActiveBlock) {
    const counts = before?.counts ?? new BlockCounts()
    this.settings = settings
    this.counts = counts
    this.handlers = createHandlers(settings, {
      ...parts,
      before: before?.handlers ?? [],
      countTemplate: (name, labels) => counts.countNamed(`coredns_template_${name}`, labels),
    })
    this.#rotates = this.handlers.some((handler) => handler instanceof RotateHandler)
    this.#cache = this.handlers.find((handler) => handler instanceof CacheHandler)
    this.immediate = this.handlers.filter((handler) => handler.answerNow !== undefined) as never
    this.#waiting = this.handlers.filter((handler) => handler.answer !== undefined) as never
    this.#observers = this.handlers.filter((handler) => handler.onAnswered !== undefined) as never
  }

  /** Answers of the resolver are rotated. */
  get rotates(): boolean {
    return this.#rotates
  }

  /** Keeps a copy of a cached answer, for the next client that asks on this thread. */
  keepCopy(query: Query, copy: CachedCopy): void {
    this.#cache?.copies.put(query, copy)
  }

  get isObserved(): boolean {
    return this.#observers.length > 0
  }

  /** Readers go over to another table of the cluster's names. */
  changeTable(index: number, table: SharedTable): void {
    if (this.settings.kubernetes?.table !== index) return
    const tables: SharedTable[] = []
    tables[index] = table
    for (const handler of this.handlers)
      if (handler instanceof KubernetesHandler) handler.table = openTable(this.settings, tables)
  }

  /** Passes the question through the handlers, from the one at `position` on. SERVFAIL where none answers. */
  answer(question: Question, position = 0): Answer | Promise<Answer> {
    const handler = this.#waiting[position]
    if (handler === undefined) return serverFailure(question.query, '')
    return handler.answer(question, (next) => this.answer(next, position + 1))
  }

  observe(answered: AnsweredQuestion): void {
    for (const observer of this.#observers) observer.onAnswered(answered)
  }
}
