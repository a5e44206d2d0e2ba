import { DnsFormatError } from './errors.ts'

/** The bounds of RFC 1035 2.3.4: a label has at most 63 bytes, a name 255 with its length bytes. */
const maxLabelLength = 63
export const maxNameLength = 255

/** A name has fewer labels than this, so a name that needs more jumps only jumps. */
const maxPointerJumps = 126

const pointerMark = 0xc0
const dot = 0x2e
const backslash = 0x5c
const escapedInText = new Set([...'.\\"();@$'].map((char) => char.charCodeAt(0)))

/** A name in wire form: uncompressed, in its original case, with the zero byte of the root at its end. */
export type WireName = Buffer

/**
 * Returns the end of the name that begins at `offset`, without following pointers; -1 where the name breaks the format or reaches `end`.
 * Allocates nothing.
 */
export function skipName(bytes: Uint8Array, offset: number, end: number): number {
  let at = offset
  while (at < end) {
    const length = bytes[at] ?? 0
    if (length === 0) return at + 1
    if (length >= pointerMark) return at + 2 <= end ? at + 2 : -1
    if (length > maxLabelLength) return -1
    at += length + 1
    if (at - offset >= maxNameLength) return -1
  }
  return -1
}

/** Does what `skipName` does for a name that must not hold a pointer, such as that of a question. */
export function skipPlainName(bytes: Uint8Array, offset: number, end: number): number {
  let at = offset
  while (at < end) {
    const length = bytes[at] ?? 0
    if (length === 0) return at + 1
    if (length > maxLabelLength) return -1
    at += length + 1
    if (at - offset >= maxNameLength) return -1
  }
  return -1
}

/**
 * Returns whether the name at `offset` can be decoded: every pointer leads backwards, there are at most 126, and the name has at most 255 bytes.
 * A name that `skipName` accepts may fail this. Allocates nothing.
 */
export function isReadableName(message: Uint8Array, offset: number, end: number): boolean {
  let at = offset
  let partStart = offset
  let length = 1
  for (let jumps = 0; at < end; ) {
    const size = message[at] ?? 0
    if (size === 0) return length <= maxNameLength
    if (size <= maxLabelLength) {
      length += size + 1
      at += size + 1
      continue
    }
    const target = ((size & 0x3f) << 8) | (message[at + 1] ?? 0)
    jumps += 1
    if (size < pointerMark || at + 1 >= end || target >= partStart || jumps > maxPointerJumps) return false
    at = target
    partStart = target
  }
  return false
}

/**
 * Decodes the name at `offset` with its pointers, and returns where it ends. A pointer must lead before the part that holds it, so that no loop
 * is possible, and at most 126 are followed.
 */
export function readName(message: Uint8Array, offset: number, end: number): { name: WireName; next: number } {
  const name = Buffer.allocUnsafe(maxNameLength)
  const cursor: Cursor = { at: offset, partStart: offset, next: -1, jumps: 0 }
  for (let length = 0; ; ) {
    const size = readLabel(message, cursor, end)
    if (length + size + 1 > maxNameLength) throw tooLong(`the name at byte ${offset}`)
    for (let index = 0; index <= size; index++) name[length + index] = message[cursor.at + index] ?? 0
    length += size + 1
    cursor.at += size + 1
    if (size > 0) continue
    return { name: Buffer.from(name.subarray(0, length)), next: cursor.next === -1 ? cursor.at : cursor.next }
  }
}

interface Cursor {
  at: number
  /** The start of the part of the name that holds `at`: its pointers must lead before it. */
  partStart: number
  /** The end of the name at its own place, known after the first pointer. */
  next: number
  jumps: number
}

/** Follows pointers to the next label and checks that the label is whole. Returns its length. */
function readLabel(message: Uint8Array, cursor: Cursor, end: number): number {
  for (;;) {
    if (cursor.at >= end) throw new DnsFormatError('short', `the name at byte ${cursor.partStart} has no end`)
    const size = message[cursor.at] ?? 0
    if (size <= maxLabelLength) {
      if (cursor.at + size >= end) throw new DnsFormatError('short', `a label at byte ${cursor.at} has no end`)
      return size
    }
    if (size < pointerMark) throw new DnsFormatError('label', `a label of unknown kind (${size}) at byte ${cursor.at}`)
    jump(cursor, readPointer(message, cursor.at, end))
  }
}

function jump(cursor: Cursor, target: number): void {
  cursor.jumps += 1
  if (target >= cursor.partStart || cursor.jumps > maxPointerJumps) throw badPointer(cursor.at, target)
  if (cursor.next === -1) cursor.next = cursor.at + 2
  cursor.at = target
  cursor.partStart = target
}

function readPointer(message: Uint8Array, at: number, end: number): number {
  if (at + 1 >= end) throw new DnsFormatError('short', `half a pointer at byte ${at}`)
  return (((message[at] ?? 0) & 0x3f) << 8) | (message[at + 1] ?? 0)
}

function badPointer(at: number, target: number): DnsFormatError {
  return new DnsFormatError('pointer', `the pointer at byte ${at} leads to byte ${target}: not backwards, or too often`)
}

function tooLong(what: string): DnsFormatError {
  return new DnsFormatError('name-too-long', `${what} has more than ${maxNameLength} bytes`)
}

/**
 * Encodes a name from its text, with or without the final dot. `\.` and `\DDD` stand for bytes that text cannot show (RFC 4343 2.1); the text is
 * Latin-1. Throws DnsFormatError `label`, `name-too-long` or `text`.
 */
export function encodeName(text: string): WireName {
  if (text === '.' || text === '') return Buffer.of(0)
  const bytes: number[] = [0]
  let labelAt = 0
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) === dot) {
      closeLabel(bytes, labelAt, text)
      labelAt = bytes.push(0) - 1
      continue
    }
    const { byte, length } = readCharacter(text, at)
    bytes.push(byte)
    at += length - 1
  }
  if (bytes.length - 1 > labelAt) {
    closeLabel(bytes, labelAt, text)
    bytes.push(0)
  }
  if (bytes.length > maxNameLength) throw tooLong(`the name ${text.slice(0, 80)}…`)
  return Buffer.from(bytes)
}

/** Returns the name in wire form, or undefined where the text is not a name. */
export function readNameText(text: string): WireName | undefined {
  try {
    return encodeName(text)
  } catch (error) {
    if (error instanceof DnsFormatError) return undefined
    throw error
  }
}

function closeLabel(bytes: number[], labelAt: number, text: string): void {
  const length = bytes.length - labelAt - 1
  if (length === 0) throw new DnsFormatError('label', `an empty label in the name ${text}`)
  if (length > maxLabelLength) throw new DnsFormatError('label', `a label of ${length} bytes in ${text.slice(0, 80)}`)
  bytes[labelAt] = length
}

/** Reads one byte of a name or string in presentation form, and returns how many characters it took. */
export function readCharacter(text: string, at: number): { byte: number; length: number } {
  const code = text.charCodeAt(at)
  if (code > 0xff) throw new DnsFormatError('text', `a character that is no byte in ${text}`)
  if (code !== backslash) return { byte: code, length: 1 }
  const digits = /^\d{3}/.exec(text.slice(at + 1))?.[0]
  if (digits !== undefined && Number(digits) <= 0xff) return { byte: Number(digits), length: 4 }
  if (at + 1 >= text.length || digits !== undefined) throw new DnsFormatError('text', `a bad escape in ${text}`)
  return { byte: text.charCodeAt(at + 1) & 0xff, length: 2 }
}

/** Returns the text of a name with its final dot; `.` is the root. */
export function nameText(name: Uint8Array, offset = 0): string {
  let text = ''
  for (let at = offset; at < name.length; ) {
    const length = name[at] ?? 0
    if (length === 0) break
    for (let index = at + 1; index <= at + length; index++) text += characterText(name[index] ?? 0)
    text += '.'
    at += length + 1
  }
  return text === '' ? '.' : text
}

function characterText(byte: number): string {
  if (escapedInText.has(byte)) return `\\${String.fromCharCode(byte)}`
  return byte > 0x20 && byte < 0x7f ? String.fromCharCode(byte) : `\\${String(byte).padStart(3, '0')}`
}

/** Lowers an ASCII letter. The bytes of label lengths are below the letters, so a whole name may be folded byte by byte. */
export function foldByte(byte: number): number {
  return byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte
}

export function foldName(name: Uint8Array): WireName {
  const folded = Buffer.allocUnsafe(name.length)
  for (let at = 0; at < name.length; at++) folded[at] = foldByte(name[at] ?? 0)
  return folded
}

/** Returns whether two names are equal in any case (RFC 4343). */
export function sameName(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && isAlikeAt(a, 0, b)
}

/** Returns whether `name` is `zone` or below it. The name may stand in other bytes, from `start` to `end`. */
export function isUnder(name: Uint8Array, zone: Uint8Array, start = 0, end = name.length): boolean {
  const tailAt = end - zone.length
  if (tailAt < start) return false
  let at = start
  while (at < tailAt) at += (name[at] ?? 0) + 1
  return at === tailAt && isAlikeAt(name, tailAt, zone)
}

function isAlikeAt(name: Uint8Array, tailAt: number, tail: Uint8Array): boolean {
  for (let at = 0; at < tail.length; at++) {
    if (foldByte(name[tailAt + at] ?? 0) !== foldByte(tail[at] ?? 0)) return false
  }
  return true
}

/** Returns the name below `parent` with these labels before it. The bytes of the labels are ASCII. */
export function below(parent: WireName, ...labels: readonly string[]): WireName {
  const length = labels.reduce((sum, label) => sum + label.length + 1, 0)
  const name = Buffer.allocUnsafe(length + parent.length)
  let at = 0
  for (const label of labels) {
    name[at] = label.length
    at += 1 + name.write(label, at + 1, 'latin1')
  }
  parent.copy(name, at)
  return name
}

/** Counts the labels of a name; the root has none. */
export function labelCount(name: Uint8Array): number {
  let count = 0
  for (let at = 0; (name[at] ?? 0) !== 0; at += (name[at] ?? 0) + 1) count += 1
  return count
}
