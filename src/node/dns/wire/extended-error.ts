import { readUint16, writeUint16 } from './bytes.ts'
import { ednsOption } from './codes.ts'

const maxReasonBytes = 255

/** Returns the EDNS option that gives a reason beyond the rcode (RFC 8914), with its code and length. */
export function extendedErrorOption(code: number, reason: string): Buffer {
  const text = Buffer.from(reason).subarray(0, maxReasonBytes)
  const head = Buffer.alloc(6)
  writeUint16(head, 0, ednsOption.EDE)
  writeUint16(head, 2, 2 + text.length)
  writeUint16(head, 4, code)
  return Buffer.concat([head, text])
}

/** Returns the extended error among the options of a message, or undefined. */
export function findExtendedError(options: Buffer | undefined): Buffer | undefined {
  for (let at = 0; options !== undefined && at + 4 <= options.length; ) {
    const end = at + 4 + readUint16(options, at + 2)
    if (readUint16(options, at) === ednsOption.EDE) return options.subarray(at, end)
    at = end
  }
  return undefined
}
