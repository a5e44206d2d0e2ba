import { type Answer, type Handler, handlerResult, type Next, type Question, writeAnswer } from '../handler.ts'
import { HostsAnswers } from './hosts-answers.ts'
import type { HostsSettings } from './settings.ts'

/** Settings of `hosts` with the text of its file; plain data. */
export interface HostsWithText {
  readonly settings: HostsSettings
  readonly text: string
}

/** Answers names and addresses from a hosts file and the lines of the Corefile. */
export class HostsHandler implements Handler {
  readonly plugin = 'hosts'
  readonly #answers: HostsAnswers

  constructor({ settings, text }: HostsWithText) {
    this.#answers = new HostsAnswers(settings, text)
  }

  answerNow(): number {
    return handlerResult.later
  }

  answer(question: Question, next: Next): Answer | Promise<Answer> {
    const { query, limit } = question
    const reply = this.#answers.answer(query)
    return reply ? { plugin: this.plugin, ageMs: 0, message: writeAnswer(query, reply, limit) } : next(question)
  }
}
