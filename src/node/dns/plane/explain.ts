import { type ObjectKey, objectKey } from '../../../model/api-object.ts'
import type { Explanation } from '../threads/messages.ts'
import { flag, rcodeName, recordClass, recordType, typeCode } from '../wire/codes.ts'
import { DnsFormatError } from '../wire/errors.ts'
import { readMessage } from '../wire/message.ts'
import { encodeName, nameText } from '../wire/name.ts'
import { headerLength } from '../wire/query.ts'
import { recordLine } from '../wire/record-line.ts'

/** The bytes of a query for that name and type. Throws DnsFormatError, also for a type that has no number. */
export function makeQuestion(name: string, type: string): Buffer {
  const code = typeCode(type)
  if (code === undefined) throw new DnsFormatError('text', `expected a record type such as AAAA, found ${type}`)
  const wireName = encodeName(name)
  const message = Buffer.alloc(headerLength + wireName.length + 4)
  message.writeUInt16BE(flag.RD, 2)
  message.writeUInt16BE(1, 4)
  wireName.copy(message, headerLength)
  message.writeUInt16BE(code, headerLength + wireName.length)
  message.writeUInt16BE(recordClass.IN, headerLength + wireName.length + 2)
  return message
}

/** Finds the Service that an answer is about: by the name that was asked for, or by the target of a reverse answer. */
export function serviceOf(name: string, { plugin, message }: Explanation): ObjectKey | undefined {
  if (plugin !== 'kubernetes') return undefined
  const labels = (pointerOf(message) ?? name).toLowerCase().replace(/\.$/, '').split('.')
  const at = labels.lastIndexOf('svc')
  return at < 2 ? undefined : objectKey(labels[at - 1] ?? '', labels[at - 2] ?? '')
}

/** An answer as text: its code, the sections as lines of a zone file. */
export interface AnswerText {
  /** `NOERROR` */
  readonly code: string
  readonly isAuthoritative: boolean
  readonly answer: readonly string[]
  readonly authority: readonly string[]
  readonly additional: readonly string[]
}

/** Renders the message of an explanation; undefined where the plugin answers nothing. */
export function answerText({ message }: Explanation): AnswerText | undefined {
  if (message === undefined) return undefined
  const bytes = Buffer.from(message)
  const { flags, rcode, answer, authority, additional } = readMessage(bytes, bytes.length)
  return {
    code: rcodeName(rcode),
    isAuthoritative: (flags & flag.AA) !== 0,
    answer: answer.map(recordLine),
    authority: authority.map(recordLine),
    additional: additional.map(recordLine),
  }
}

function pointerOf(message: Uint8Array | undefined): string | undefined {
  if (message === undefined) return undefined
  const bytes = Buffer.from(message)
  const pointer = readMessage(bytes, bytes.length).answer.find(({ type }) => type === recordType.PTR)
  return pointer && nameText(pointer.data)
}
