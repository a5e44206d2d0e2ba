import { maxMessageLength } from '../../wire/message.ts'
import type { Query } from '../../wire/query.ts'
import { type AnswerTable, noAnswer } from '../../zone/answer-table.ts'
import {
  type Answer,
  type Handler,
  handlerResult,
  type Next,
  type Question,
  serverFailure,
  writeAnswer,
} from '../handler.ts'
import type { ResolveTarget } from '../resolve-target.ts'
import { joinAlias } from './external-name.ts'

/** An answer is written here and copied: most questions that come here have none. */
const scratch = Buffer.allocUnsafeSlow(maxMessageLength)

/** Answers the names of the cluster from their table; the targets of ExternalName Services are resolved as the client would. */
export class KubernetesHandler implements Handler {
  readonly plugin = 'kubernetes'
  table: AnswerTable | undefined
  readonly #resolveTarget: ResolveTarget

  constructor(table: AnswerTable | undefined, resolveTarget: ResolveTarget) {
    this.table = table
    this.#resolveTarget = resolveTarget
  }

  answerNow(query: Query, out: Buffer, limit: number): number {
    const length = this.table === undefined ? noAnswer.nextPlugin : this.table.answer(query, out, limit)
    if (length > 0) return length
    return length === noAnswer.externalName ? handlerResult.later : handlerResult.next
  }

  answer(question: Question, next: Next): Answer | Promise<Answer> {
    const { query, limit } = question
    const length = this.table?.answer(query, scratch, limit) ?? noAnswer.nextPlugin
    if (length > 0) return { plugin: this.plugin, ageMs: 0, message: Buffer.from(scratch.subarray(0, length)) }
    return length === noAnswer.externalName ? this.#answerExternalName(question) : next(question)
  }

  async #answerExternalName(question: Question): Promise<Answer> {
    const { query, limit } = question
    const alias = this.table?.alias(query)
    if (alias === undefined) return serverFailure(query, this.plugin)
    const message = await this.#resolveTarget(alias.data, question)
    const reply = joinAlias(alias, message && { bytes: message, length: message.length })
    return { plugin: this.plugin, ageMs: 0, message: writeAnswer(query, reply, limit) }
  }
}
