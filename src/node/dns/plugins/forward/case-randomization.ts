import { readUint16 } from '../../wire/bytes.ts'
import { rcode } from '../../wire/codes.ts'
import type { MessageLayout } from '../../wire/message.ts'
import { isUnder, skipName, skipPlainName } from '../../wire/name.ts'
import { headerLength, type Query } from '../../wire/query.ts'
import type { RandomNumbers } from './random-numbers.ts'

/** After this time an upstream that did not keep the case is tried again. */
const plainForMs = 600_000
/** How many answers in another case, one after the other, cannot all be forged: something on the way changes them. */
const maxMismatches = 8

/** The rcodes that say nothing of the name: the server failed, or does not know EDNS. */
const ordinaryFailures = new Set<number>([rcode.SERVFAIL, rcode.FORMERR, rcode.NOTIMP])

/**
 * How an answer treats the case it was asked in. `kept`: it has the same case; `changed`: it may be forged; `denied`: it denies the name without
 * the SOA of a denial, as a server does that distinguishes upper and lower case.
 */
export type CaseVerdict = 'kept' | 'changed' | 'denied'

/**
 * Decides whether one upstream is asked in random case (draft-vixie-dnsext-dns0x20). The upstream copies the question into its answer, so that a
 * forged answer has to guess one more bit for each letter. An upstream that does not keep the case, or does not answer such questions, is asked
 * in the client's case.
 */
export class CaseRandomization {
  #plainUntilMs = 0
  /** The upstream has answered a question in random case with records, so it ignores the case of names. */
  #isProven = false
  /** The last question in random case got no answer. */
  #isSilent = false
  #mismatches = 0

  get isUsed(): boolean {
    return !this.#isSilent && performance.now() >= this.#plainUntilMs
  }

  /** Judges the answer to a question in random case. The question has the same offset in both messages. */
  judge(asked: Buffer, reply: Buffer): CaseVerdict {
    if (!isEcho(asked, reply)) return this.#countMismatch()
    this.#mismatches = 0
    if (readUint16(reply, 6) > 0) {
      this.#isProven = true
      return 'kept'
    }
    const code = readUint16(reply, 2) & 0xf
    const isOrdinary = ordinaryFailures.has(code) || readUint16(reply, 8) > 0
    return isOrdinary || (code === rcode.NOERROR && this.#isProven) ? 'kept' : 'denied'
  }

  /** Notes that a question in random case got no answer in time: the next one is asked in the client's case. */
  noteSilence(): void {
    this.#isSilent = !this.#isProven
  }

  /** Notes whether a question in the client's case got an answer. */
  notePlain(answered: boolean): void {
    if (this.#isSilent && answered) this.giveUp()
    this.#isSilent = false
  }

  /** Asks this upstream in the client's case for a while. */
  giveUp(): void {
    this.#plainUntilMs = performance.now() + plainForMs
    this.#isProven = false
    this.#mismatches = 0
  }

  #countMismatch(): CaseVerdict {
    this.#mismatches += 1
    if (this.#mismatches >= maxMismatches) this.giveUp()
    return 'changed'
  }
}

/** Gives the letters of the question's name a random case, in place. */
export function randomizeCase(message: Buffer, random: RandomNumbers): Buffer {
  const end = skipPlainName(message, headerLength, message.length)
  let bits = 0
  let left = 0
  for (let at = headerLength; at < end; at++) {
    const letter = (message[at] ?? 0) | 0x20
    if (letter < 0x61 || letter > 0x7a) continue
    if (left === 0) {
      bits = random.byte()
      left = 8
    }
    message[at] = letter ^ ((bits & 1) << 5)
    bits >>= 1
    left -= 1
  }
  return message
}

/** Returns whether the answer repeats the question byte by byte. An answer that is only a header has no question. */
export function isEcho(asked: Buffer, reply: Buffer): boolean {
  if (readUint16(reply, 4) === 0) return true
  const end = skipPlainName(asked, headerLength, asked.length) + 4
  return reply.length >= end && reply.compare(asked, headerLength, end, headerLength, end) === 0
}

/** Restores the client's case in the question, and in owners that are that name or an end of it. */
export function restoreCase(message: Buffer, layout: MessageLayout, { bytes, nameEnd, name }: Query): void {
  if (!layout.hasQuestion) return
  for (let at = headerLength; at < nameEnd; at += 1) message[at] = bytes[at] ?? 0
  for (const { start } of layout.records) {
    const first = message[start] ?? 0
    // A pointer, or the root.
    if (first >= 0xc0 || first === 0) continue
    const end = skipName(message, start, message.length)
    const owner = message.subarray(start, end)
    if (owner.length > 1 && owner.at(-1) === 0 && isUnder(name, owner))
      owner.set(name.subarray(name.length - owner.length))
  }
}
