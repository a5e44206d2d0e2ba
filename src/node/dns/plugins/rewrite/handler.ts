import { maxMessageLength, readMessage } from '../../wire/message.ts'
import { Query } from '../../wire/query.ts'
import {
  type Answer,
  type Handler,
  handlerResult,
  type Next,
  type Question,
  serverFailure,
  writeAnswer,
} from '../handler.ts'
import { QueryRewriter } from './query-rewriter.ts'
import type { RewriteRule } from './settings.ts'

/** Passes a question on as its rules rewrite it, and restores the names of the answer. */
export class RewriteHandler implements Handler {
  readonly plugin = 'rewrite'
  readonly #rewriter: QueryRewriter

  constructor(rules: readonly RewriteRule[]) {
    this.#rewriter = new QueryRewriter(rules)
  }

  answerNow(): number {
    return handlerResult.later
  }

  async answer(question: Question, next: Next): Promise<Answer> {
    const { query, limit } = question
    const rewritten = this.#rewriter.rewrite(query)
    if (rewritten === undefined) return next(question)
    const changed = new Query()
    if (changed.parse(rewritten.bytes, rewritten.bytes.length) !== 'ok') return serverFailure(query, this.plugin)
    const answer = await next({ ...question, query: changed, limit: maxMessageLength })
    const { message } = answer
    if (message === undefined) return answer
    const reply = rewritten.restore(readMessage(message, message.length))
    return { ...answer, message: writeAnswer(query, reply, limit) }
  }
}
