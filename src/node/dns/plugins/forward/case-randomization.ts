import { readUint16 } from '../../wire/bytes.ts'
import { rcode } from '../../wire/codes.ts'
import type { MessageLayout } from '../../wire/message.ts'
import { isUnder, skipName, skipPlainName } from '../../wire/name.ts'
import { headerLength } from '../../wire/query.ts'
import type { RandomNumbers } from './random-numbers.ts'

/** After that, an upstream that did not keep the spelling is tried again. */
const plainForMs = 600_000
/** Answers in another spelling, one after the other, that cannot all be forged: something on the way changes them. */
const maxMismatches = 8

/** Those that say nothing of the name: the server failed, or does not know EDNS. */
const ordinaryFailures = new Set<number>([rcode.SERVFAIL, rcode.FORMERR, rcode.NOTIMP])

/**
 * What an answer says of the spelling it was asked in: kept; changed, so that it may be forged; or denied as a server does that tells upper from
 * lower case: without the SOA that a denial has.
 */
export type CaseVerdict = 'kept' | 'changed' | 'denied'

/**
 * Whether one upstream is asked in a random case (draft-vixie-dnsext-dns0x20): it copies the question into its answer, and who forges one has
 * to guess a further bit for each letter. An upstream that does not keep the case, or does not answer such questions, is asked as the client spelt it.
 */
export class CaseRandomization {
  #plainUntilMs = 0
  /** It has answered a question in mixed case with records: it does not tell cases apart. */
  #isProven = false
  /** The last question in mixed case stayed without an answer. */
  #isSilent = false
  #mismatches = 0

  get isUsed(): boolean {
    return !this.#isSilent && performance.now() >= this.#plainUntilMs
  }

  /** The answer to a question in mixed case, both with the question at the same offset. */
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

  /** No answer came in time to a question in mixed case: the next one is asked as it is spelt. */
  noteSilence(): void {
    this.#isSilent = !this.#isProven
  }

  /** An answer came, or none, to a question that was asked as it is spelt. */
  notePlain(answered: boolean): void {
    if (this.#isSilent && answered) this.giveUp()
    this.#isSilent = false
  }

  /** This upstream is asked as the client spells it, for a while. */
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

/** Whether the question stands in the answer byte by byte. An answer of a header alone has none. */
export function isEcho(asked: Buffer, reply: Buffer): boolean {
  if (readUint16(reply, 4) === 0) return true
  const end = skipPlainName(asked, headerLength, asked.length) + 4
  return reply.length >= end && reply.compare(asked, headerLength, end, headerLength, end) === 0
}

/** Writes the name as the client spelt it into the question, and where it or an end of it stands whole as an owner. */
export function restoreCase(message: Buffer, layout: MessageLayout, name: Uint8Array): void {
  if (layout.questionName === undefined) return
  message.set(name, headerLength)
  for (const { start } of layout.records) {
    if ((message[start] ?? 0) >= 0xc0) continue
    const end = skipName(message, start, message.length)
    const owner = message.subarray(start, end)
    if (owner.length > 1 && owner.at(-1) === 0 && isUnder(name, owner))
      owner.set(name.subarray(name.length - owner.length))
  }
}
