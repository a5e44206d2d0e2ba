import { type ObjectKey, objectKey } from '../../../model/api-object.ts'
import type { Explanation } from '../threads/messages.ts'
import { flag, recordClass, recordType, typeCode } from '../wire/codes.ts'
import { readMessage } from '../wire/message.ts'
import { encodeName, nameText } from '../wire/name.ts'
import { headerLength } from '../wire/query.ts'

/** The bytes of a query for that name and type. Throws DnsFormatError. */
export function makeQuestion(name: string, type: string): Buffer {
  const wireName = encodeName(name)
  const message = Buffer.alloc(headerLength + wireName.length + 4)
  message.writeUInt16BE(flag.RD, 2)
  message.writeUInt16BE(1, 4)
  wireName.copy(message, headerLength)
  message.writeUInt16BE(typeCode(type) ?? recordType.A, headerLength + wireName.length)
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

function pointerOf(message: Uint8Array | undefined): string | undefined {
  if (message === undefined) return undefined
  const bytes = Buffer.from(message)
  const pointer = readMessage(bytes, bytes.length).answer.find(({ type }) => type === recordType.PTR)
  return pointer && nameText(pointer.data)
}
