import { writeUint16 } from '../../wire/bytes.ts'
import { flag } from '../../wire/codes.ts'
import { findExtendedError } from '../../wire/extended-error.ts'
import type { DnsMessage } from '../../wire/message.ts'
import { foldName, nameText, readNameText, type WireName } from '../../wire/name.ts'
import { headerLength, type Query } from '../../wire/query.ts'
import { readDataParts } from '../../wire/rdata.ts'
import type { DnsRecord } from '../../wire/record.ts'
import type { Reply } from '../../wire/response.ts'
import { type NameChange, nameChange, patternChange } from './name-match.ts'
import type { RewriteRule } from './settings.ts'

/** A rewritten query, and how its answer is restored for the client. */
export interface RewrittenQuery {
  /** The bytes in a buffer of their own. The question is unchanged where a rule only changes the answer. */
  readonly bytes: Buffer
  /** Returns the answer with its records restored, for the query of the client. */
  restore(message: DnsMessage): Reply
}

/** The question while rules change it. */
interface Question {
  name: string
  type: number
  class: number
}

type RecordChange = (record: DnsRecord) => DnsRecord

/** A rule that applies changes the question and returns what it does to the records of the answer. */
type ActiveRule = (question: Question) => readonly RecordChange[] | undefined

/** The `rewrite` rules of a server block. They are tried in order until one applies that does not say `continue`. */
export class QueryRewriter {
  readonly #rules: readonly { readonly apply: ActiveRule; readonly stops: boolean }[]

  constructor(rules: readonly RewriteRule[]) {
    this.#rules = rules.map((rule) => ({ apply: activate(rule), stops: rule.next === 'stop' }))
  }

  /** Returns undefined where no rule applies. */
  rewrite(query: Query): RewrittenQuery | undefined {
    const question = { name: nameText(foldName(query.name)), type: query.type, class: query.class }
    const changes: RecordChange[] = []
    let applied = false
    for (const { apply, stops } of this.#rules) {
      const made = apply(question)
      if (made === undefined) continue
      applied = true
      // The last rule is undone first.
      changes.unshift(...made)
      if (stops) break
    }
    const bytes = applied ? askAgain(query, question) : undefined
    return bytes === undefined ? undefined : { bytes, restore: (message) => restore(message, changes) }
  }
}

/** Returns the query with another question; undefined where a rule did not make a name. */
function askAgain(query: Query, question: Question): Buffer | undefined {
  const name = readNameText(question.name)
  if (name === undefined) return undefined
  const same = nameText(foldName(query.name)) === question.name
  const parts = [same ? query.name : name, Buffer.alloc(4), query.bytes.subarray(query.questionEnd, query.length)]
  const bytes = Buffer.concat([query.bytes.subarray(0, headerLength), ...parts])
  const typeAt = headerLength + (same ? query.name.length : name.length)
  writeUint16(bytes, typeAt, question.type)
  writeUint16(bytes, typeAt + 2, question.class)
  return bytes
}

function restore(message: DnsMessage, changes: readonly RecordChange[]): Reply {
  const turn = (records: readonly DnsRecord[]) =>
    records.map((record) => changes.reduce((changed, change) => change(changed), record))
  return {
    rcode: message.rcode,
    flags: message.flags & (flag.AA | flag.RA | flag.AD | flag.TC),
    answer: turn(message.answer),
    authority: turn(message.authority),
    additional: turn(message.additional),
    extendedError: findExtendedError(message.edns?.options),
  }
}

function activate(rule: RewriteRule): ActiveRule {
  switch (rule.field) {
    case 'name':
      return activateName(rule)
    case 'type':
    case 'class':
      return (question) => {
        const { field, from, to } = rule
        if (question[field] !== from) return undefined
        question[field] = to
        return []
      }
    case 'ttl':
      return activateTtl(rule)
  }
}

function activateTtl(rule: Extract<RewriteRule, { field: 'ttl' }>): ActiveRule {
  const matches = nameChange(rule.match, rule.from, '')
  const clamp: RecordChange = (record) => ({ ...record, ttl: Math.min(rule.max, Math.max(rule.min, record.ttl)) })
  return (question) => (matches(question.name) === undefined ? undefined : [clamp])
}

function activateName(rule: Extract<RewriteRule, { field: 'name' }>): ActiveRule {
  const change = nameChange(rule.match, rule.from, rule.to)
  const explicit = rule.answer.map(({ part, pattern, replacement }) => {
    const turn = patternChange(pattern, replacement)
    return part === 'name' ? changeOwner(turn) : changeTargets(turn)
  })
  return (question) => {
    const before = question.name
    const after = change(before)
    if (after === undefined) return undefined
    question.name = after.endsWith('.') ? after : `${after}.`
    if (!rule.auto) return explicit
    const back = wayBack(rule, question.name, before)
    return [changeOwner(back), changeTargets(back), ...explicit]
  }
}

/**
 * Returns how names of the answer are restored. Prefixes and suffixes are restored in every name that has them, other matches only in the name
 * that was asked for.
 */
function wayBack(
  { match, from, to }: Extract<RewriteRule, { field: 'name' }>,
  after: string,
  before: string,
): NameChange {
  return match === 'prefix' || match === 'suffix' ? nameChange(match, to, from) : nameChange('exact', after, before)
}

function changeOwner(change: NameChange): RecordChange {
  return (record) => {
    const name = changeName(record.name, change)
    return name === undefined ? record : { ...record, name }
  }
}

function changeTargets(change: NameChange): RecordChange {
  return (record) => {
    const parts = readDataParts(record.data, 0, record.data.length, record.type)
    const changed = parts.map((part) =>
      part.kind === 'name' ? (changeName(part.name, change) ?? part.name) : part.bytes,
    )
    return { ...record, data: Buffer.concat(changed) }
  }
}

function changeName(name: WireName, change: NameChange): WireName | undefined {
  const changed = change(nameText(foldName(name)))
  return changed === undefined ? undefined : readNameText(changed)
}
