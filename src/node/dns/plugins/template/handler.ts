import { recordType } from '../../wire/codes.ts'
import { readMessage } from '../../wire/message.ts'
import type { DnsRecord } from '../../wire/record.ts'
import type { Reply } from '../../wire/response.ts'
import { type Answer, type Handler, handlerResult, type Next, type Question, writeAnswer } from '../handler.ts'
import type { ResolveTarget } from '../resolve-target.ts'
import type { TemplateAnswers } from './template-answers.ts'

/** Answers questions from templates. The addresses of a target follow an alias that a template makes. */
export class TemplateHandler implements Handler {
  readonly plugin = 'template'
  readonly #answers: TemplateAnswers
  readonly #resolveTarget: ResolveTarget

  constructor(answers: TemplateAnswers, resolveTarget: ResolveTarget) {
    this.#answers = answers
    this.#resolveTarget = resolveTarget
  }

  answerNow(): number {
    return handlerResult.later
  }

  async answer(question: Question, next: Next): Promise<Answer> {
    const { query, client, limit } = question
    const made = this.#answers.answer(query, client.address)
    if (made === undefined) return next(question)
    const reply = await this.#addTargets(made, question)
    return { plugin: this.plugin, ageMs: 0, message: writeAnswer(query, reply, limit) }
  }

  async #addTargets(reply: Reply, question: Question): Promise<Reply> {
    const { type } = question.query
    const wantsAddresses = type === recordType.A || type === recordType.AAAA
    if (!wantsAddresses || !reply.answer.some((record) => record.type === recordType.CNAME)) return reply
    const answer: DnsRecord[] = []
    for (const record of reply.answer) {
      answer.push(record)
      if (record.type !== recordType.CNAME) continue
      const target = await this.#resolveTarget(record.data, question)
      if (target) answer.push(...readMessage(target, target.length).answer)
    }
    return { ...reply, answer }
  }
}
