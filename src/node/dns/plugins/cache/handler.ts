import type { Query } from '../../wire/query.ts'
import { type Answer, type Handler, handlerResult, type Next, type Question } from '../handler.ts'
import { rotateMessage } from '../loadbalance/handler.ts'
import type { ThreadAnswerCache } from './thread-answer-cache.ts'

/** Answers from this thread's copies of the cache, and keeps copies of what the cache answers. */
export class CacheHandler implements Handler {
  readonly plugin = 'cache'
  readonly copies: ThreadAnswerCache
  readonly #rotates: boolean

  /** `rotates`: the block has `loadbalance`. */
  constructor(copies: ThreadAnswerCache, rotates: boolean) {
    this.copies = copies
    this.#rotates = rotates
  }

  answerNow(query: Query, out: Buffer, limit: number): number {
    const length = this.copies.answer(query, out, limit)
    if (length === 0) return handlerResult.next
    if (this.#rotates) rotateMessage(out, length)
    return length
  }

  answer(question: Question, next: Next): Answer | Promise<Answer> {
    const answer = next(question)
    return answer instanceof Promise ? answer.then((late) => this.#keep(question, late)) : this.#keep(question, answer)
  }

  #keep({ query }: Question, answer: Answer): Answer {
    if (answer.copy) this.copies.put(query, answer.copy)
    return answer
  }
}
