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
export function followAliases(message: Buffer, { questionName, questionType, records }: MessageLayout): AliasEnd {
  const answers = records.filter(({ section }) => section === 'answer')
  if (questionName === undefined) return { isLoop: false, isAnswered: answers.length > 0 }
  const aliases = readAliases(message, answers)
  let end = questionName
  const passed = new Set<string>()
  for (let target = aliases.get(keyOf(end)); target !== undefined; target = aliases.get(keyOf(end))) {
    passed.add(keyOf(end))
    if (passed.has(keyOf(target))) return { isLoop: true, isAnswered: false }
    if (questionType === recordType.CNAME) break
    end = target
  }
  const isWanted = ({ type }: RecordLocation) => type === questionType || questionType === recordType.ANY
  return { isLoop: false, isAnswered: answers.some((record) => isWanted(record) && isOwnedBy(message, record, end)) }
}

function readAliases(message: Buffer, answers: readonly RecordLocation[]): ReadonlyMap<string, WireName> {
  const aliases = new Map<string, WireName>()
  for (const { type, start, dataAt } of answers) {
    if (type !== recordType.CNAME) continue
    const owner = keyOf(readName(message, start, message.length).name)
    if (!aliases.has(owner)) aliases.set(owner, readName(message, dataAt, message.length).name)
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
