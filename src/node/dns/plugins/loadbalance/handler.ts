import type { Cidr } from '../../../../model/ip.ts'
import { readUint16 } from '../../wire/bytes.ts'
import { flag } from '../../wire/codes.ts'
import { findExtendedError } from '../../wire/extended-error.ts'
import { readLayout, readMessage } from '../../wire/message.ts'
import type { Query } from '../../wire/query.ts'
import { writeReply } from '../../wire/response.ts'
import { type Answer, type Handler, handlerResult, type Next, type Question } from '../handler.ts'
import { orderReply, readWeights, rotateAddresses, type Weights } from './order.ts'

/** Preferred networks and weights; plain data. */
export interface OrderSettings {
  readonly prefer: readonly Cidr[]
  /** The text of the file with the weights. */
  readonly weights: string | undefined
}

/** Rotates the addresses of answers (`round_robin`). Answers of `kubernetes` and copies of the cache are rotated where they are written. */
export class RotateHandler implements Handler {
  readonly plugin = 'loadbalance'

  answer(question: Question, next: Next): Answer | Promise<Answer> {
    const answer = next(question)
    if (question.aliases > 0) return answer
    return answer instanceof Promise ? answer.then(rotate) : rotate(answer)
  }
}

function rotate(answer: Answer): Answer {
  const { message, plugin } = answer
  if (message !== undefined && plugin !== 'kubernetes') rotateMessage(message, message.length)
  return answer
}

/** Rotates the addresses of the message in the first `length` bytes. */
export function rotateMessage(message: Buffer, length: number): void {
  if (readUint16(message, 6) > 1) rotateAddresses(message, length, readLayout(message, length), Math.random)
}

const copiedFlags = flag.AA | flag.RA | flag.AD | flag.TC

/** Orders the records of all answers by preferred networks and weights. */
export class OrderHandler implements Handler {
  readonly plugin = 'loadbalance'
  readonly #prefer: readonly Cidr[]
  readonly #weights: Weights | undefined

  constructor({ prefer, weights }: OrderSettings) {
    this.#prefer = prefer
    this.#weights = weights === undefined ? undefined : readWeights(weights)
  }

  answerNow(): number {
    return handlerResult.later
  }

  async answer(question: Question, next: Next): Promise<Answer> {
    const answer = await next(question)
    const { message } = answer
    if (message === undefined || question.aliases > 0) return answer
    return { ...answer, message: this.#order(question.query, message, question.limit) }
  }

  #order(query: Query, message: Buffer, limit: number): Buffer {
    const { rcode, flags, answer, authority, additional, edns } = readMessage(message, message.length)
    const extendedError = findExtendedError(edns?.options)
    const reply = { rcode, flags: flags & copiedFlags, answer, authority, additional, extendedError }
    const weights = this.#weights === undefined ? {} : { weights: this.#weights }
    const ordered = orderReply(reply, { prefer: this.#prefer, ...weights }, Math.random)
    const out = Buffer.allocUnsafe(limit)
    return out.subarray(0, writeReply(query, ordered, out, limit))
  }
}
