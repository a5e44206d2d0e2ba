import { rcode } from '../wire/codes.ts'
import type { Query } from '../wire/query.ts'
import { type Reply, writeError, writeReply } from '../wire/response.ts'
import type { Client } from './client.ts'

/** The plugins that give or change answers, as metrics and `platnet dns query` name them. */
type PluginName = 'cache' | 'forward' | 'hosts' | 'kubernetes' | 'loadbalance' | 'log' | 'loop' | 'rewrite' | 'template'

/** A query on its way through the handlers of a server block. */
export interface Question {
  readonly query: Query
  readonly client: Client
  /** The most bytes that the answer may have. */
  readonly limit: number
  /** How many aliases (CNAME) led from the client's question to this one. */
  readonly aliases: number
}

export interface Answer {
  /** The plugin that gave the answer; empty where none did. */
  readonly plugin: PluginName | ''
  /** How long the answer has been cached. */
  readonly ageMs: number
  /** Undefined where the client gets no answer. */
  readonly message: Buffer | undefined
  readonly copy?: CachedCopy
}

/** A copy of what the cache of the resolver holds, for the cache of a serving thread; plain data. */
export interface CachedCopy {
  /** The bytes of the message, as the upstream sent it. */
  readonly message: Uint8Array
  readonly kind: 'success' | 'denial'
  readonly ageMs: number
  /** How much longer the cache gives this answer. */
  readonly leftMs: number
}

/** An answer that went to the client. */
export interface AnsweredQuestion {
  readonly query: Query
  readonly client: Client
  /** Undefined where the client got none. */
  readonly message: Buffer | undefined
  readonly seconds: number
}

/**
 * The codes that `Handler.answerNow` returns instead of a length, which is above 0. They are numbers because a result object for each answer would cost
 * time on the path of answers from memory.
 */
export const handlerResult = {
  /** The handler has no answer: the next one is asked. */
  next: 0,
  /** The answer takes waiting, or more work than fits this path: `answer` of the block's handlers gives it. */
  later: -1,
  /** No handler before has the answer: the resolver has it, in its cache or from upstreams. */
  resolver: -2,
} as const

export type Next = (question: Question) => Answer | Promise<Answer>

/** One plugin of a server block on a serving thread. The handlers of a block have an order; each takes part where it has the method. */
export interface Handler {
  readonly plugin: PluginName
  /** Writes the answer from memory into `out`, at most `limit` bytes. Returns its length, or a code of `handlerResult`. */
  answerNow?(query: Query, out: Buffer, limit: number): number
  /** Answers a question for which a handler said `later`, or passes it on with `next`. */
  answer?(question: Question, next: Next): Answer | Promise<Answer>
  /** Receives each answer after it was made. */
  onAnswered?(answered: AnsweredQuestion): void
}

/** The space for an answer that is only an rcode: question, OPT, echoed options. */
const errorBytes = 1024

/** Writes a reply as the answer to the query. */
export function writeAnswer(query: Query, reply: Reply, limit: number): Buffer {
  const out = allocateAnswer(limit)
  return out.subarray(0, writeReply(query, reply, out, limit))
}

/** Allocates a buffer for an answer of at most `limit` bytes, or for an error. */
function allocateAnswer(limit: number): Buffer {
  return Buffer.allocUnsafe(Math.max(limit, errorBytes))
}

/** Makes an answer with SERVFAIL. */
export function serverFailure(query: Query, plugin: Answer['plugin']): Answer {
  const out = Buffer.allocUnsafe(errorBytes)
  return { plugin, ageMs: 0, message: out.subarray(0, writeError(query, out, rcode.SERVFAIL)) }
}
