import type { Cidr } from '../../../../model/ip.ts'
import { flag } from '../../wire/codes.ts'
import { findExtendedError } from '../../wire/extended-error.ts'
import { readLayout, readMessage } from '../../wire/message.ts'
import type { Query } from '../../wire/query.ts'
import { writeReply } from '../../wire/response.ts'
import { orderReply, readWeights, rotateAddresses, type Weights } from './order.ts'

/** Of `loadbalance`, beyond turning the order of addresses; plain data. */
export interface OrderSettings {
  readonly prefer: readonly Cidr[]
  /** The text of the file with the weights. */
  readonly weights: string | undefined
}

const keptFlags = flag.AA | flag.RA | flag.AD | flag.TC

/** The `loadbalance` of a block. Tables turn their own answers; this is for those of others, and for preferences and weights. */
export class AnswerOrder {
  readonly #prefer: readonly Cidr[]
  readonly #weights: Weights | undefined
  /** Whether also the answers of our own names have to be put in order. */
  readonly concernsOwn: boolean

  constructor(settings: OrderSettings | undefined) {
    this.#prefer = settings?.prefer ?? []
    this.#weights = settings?.weights === undefined ? undefined : readWeights(settings.weights)
    this.concernsOwn = settings !== undefined
  }

  /** The answer in order; a message of its own, or the same one changed. */
  arrange(query: Query, message: Buffer, plugin: string, limit: number): Buffer {
    if (!this.concernsOwn) return plugin === 'kubernetes' ? message : turn(message)
    const { rcode, flags, answer, authority, additional, edns } = readMessage(message, message.length)
    const extendedError = findExtendedError(edns?.options)
    const reply = { rcode, flags: flags & keptFlags, answer, authority, additional, extendedError }
    const weights = this.#weights === undefined ? {} : { weights: this.#weights }
    const ordered = orderReply(reply, { prefer: this.#prefer, ...weights }, Math.random)
    const out = Buffer.allocUnsafe(limit)
    return out.subarray(0, writeReply(query, ordered, out, limit))
  }
}

function turn(message: Buffer): Buffer {
  rotateAddresses(message, message.length, readLayout(message, message.length), Math.random)
  return message
}
