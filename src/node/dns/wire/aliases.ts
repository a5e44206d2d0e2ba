import { readUint16 } from './bytes.ts'
import { recordType } from './codes.ts'
import type { MessageLayout, RecordLocation } from './message.ts'
import { foldName, readName, sameName, type WireName } from './name.ts'
import { headerLength } from './query.ts'

/** The end of the aliases (CNAME) of an answer, followed from the name that was asked for. */
export interface AliasEnd {
  /** An alias leads back to a name before it, so the answer has no end. */
  readonly isLoop: boolean
  /** The name at the end has records of the type that was asked for. */
  readonly isAnswered: boolean
}

const pointerToQuestion = 0xc000 | headerLength

/** Follows the aliases of an answer. A name that is only a pointer to the question is not decoded. Throws DnsFormatError. */
export function followAliases(message: Buffer, layout: MessageLayout): AliasEnd {
  const { questionType, records } = layout
  if (!records.some(isAlias)) return hasPlainAnswer(message, layout) ? plainAnswer : noAnswer
  const { questionName } = layout
  if (questionName === undefined) return plainAnswer
  const isAnsweredAt = (end: WireName) =>
    records.some((record) => isAnswer(record) && isWanted(record, questionType) && isOwnedBy(message, record, end))
  const aliases = readAliases(message, records)
  let end = questionName
  const passed = new Set<string>()
  for (let target = aliases.get(keyOf(end)); target !== undefined; target = aliases.get(keyOf(end))) {
    passed.add(keyOf(end))
    if (passed.has(keyOf(target))) return { isLoop: true, isAnswered: false }
    if (questionType === recordType.CNAME) break
    end = target
  }
  return { isLoop: false, isAnswered: isAnsweredAt(end) }
}

const plainAnswer: AliasEnd = { isLoop: false, isAnswered: true }
const noAnswer: AliasEnd = { isLoop: false, isAnswered: false }

/** Returns whether a message without aliases answers its question. Most owners are pointers to the question: they take no decoding. */
function hasPlainAnswer(message: Buffer, layout: MessageLayout): boolean {
  const { hasQuestion, questionType, records } = layout
  for (const record of records) {
    if (!isAnswer(record)) continue
    if (!hasQuestion) return true
    if (!isWanted(record, questionType)) continue
    const isPointer = readUint16(message, record.start) === pointerToQuestion
    if (isPointer || isOwnedBy(message, record, layout.questionName ?? noName)) return true
  }
  return false
}

const noName: WireName = Buffer.alloc(0)

function isAnswer({ section }: RecordLocation): boolean {
  return section === 'answer'
}

function isAlias(record: RecordLocation): boolean {
  return record.type === recordType.CNAME && isAnswer(record)
}

function isWanted({ type }: RecordLocation, questionType: number): boolean {
  return type === questionType || questionType === recordType.ANY
}

function readAliases(message: Buffer, records: readonly RecordLocation[]): ReadonlyMap<string, WireName> {
  const aliases = new Map<string, WireName>()
  for (const record of records) {
    if (!isAlias(record)) continue
    const owner = keyOf(readName(message, record.start, message.length).name)
    if (!aliases.has(owner)) aliases.set(owner, readName(message, record.dataAt, message.length).name)
  }
  return aliases
}

function isOwnedBy(message: Buffer, { start }: RecordLocation, name: WireName): boolean {
  if (
    message.readUInt16BE(start) === pointerToQuestion &&
    message.compare(name, 0, name.length, headerLength, headerLength + name.length) === 0
  )
    return true
  return sameName(readName(message, start, message.length).name, name)
}

function keyOf(name: WireName): string {
  return foldName(name).toString('latin1')
}
