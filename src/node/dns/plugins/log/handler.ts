import { readUint16 } from '../../wire/bytes.ts'
import { className, flag, rcode, rcodeName, recordType, typeName } from '../../wire/codes.ts'
import { readLayout } from '../../wire/message.ts'
import { foldName, nameText } from '../../wire/name.ts'
import type { AnsweredQuestion, Handler } from '../handler.ts'
import type { LogClass, LogRule } from './settings.ts'

type Field = (answered: AnsweredQuestion) => string | number

const fields: Readonly<Record<string, Field>> = {
  remote: ({ client }) => bracketed(client.address),
  local: ({ client }) => bracketed(client.listener.current.address),
  port: ({ client }) => client.port,
  proto: ({ client }) => client.transport,
  type: ({ query }) => typeName(query.type),
  class: ({ query }) => className(query.class),
  name: ({ query }) => nameText(foldName(query.name)),
  size: ({ query }) => query.length,
  rcode: ({ message }) => (message === undefined ? noValue : rcodeName(flagsOf(message) & 0xf)),
  rsize: ({ message }) => message?.length ?? 0,
  duration: ({ seconds }) => `${seconds.toFixed(9)}s`,
  '>id': ({ query }) => query.id,
  '>opcode': () => 0,
  '>do': ({ query }) => String(query.dnssecOk),
  '>bufsize': ({ query }) => query.udpSize,
  '>rflags': ({ message }) => (message === undefined ? noValue : renderFlags(flagsOf(message))),
}

/** The value of a field that an answer does not have. */
const noValue = '-'

const flagNames = { qr: flag.QR, aa: flag.AA, tc: flag.TC, rd: flag.RD, ra: flag.RA, ad: flag.AD, cd: flag.CD } as const

/** Writes a line for each answer that a rule of the block asks for. */
export class LogHandler implements Handler {
  readonly plugin = 'log'
  readonly #rules: readonly LogRule[]
  readonly #write: (line: string) => void

  constructor(rules: readonly LogRule[], write: (line: string) => void) {
    this.#rules = rules
    this.#write = write
  }

  onAnswered(answered: AnsweredQuestion): void {
    const line = renderLogLine(this.#rules, answered)
    if (line !== undefined) this.#write(line)
  }
}

/** Returns the line that the first rule for the name asks for, or undefined. */
function renderLogLine(rules: readonly LogRule[], answered: AnsweredQuestion): string | undefined {
  const rule = rules.find(({ zone }) => answered.query.isUnder(zone))
  if (rule === undefined || !isWanted(rule, answered)) return undefined
  return rule.format.replace(/\{([^{}]+)\}/g, (text, name: string) => renderField(name, answered) ?? text)
}

/** Renders one field. Metadata of other plugins (`{/…}`) has no value here. */
function renderField(name: string, answered: AnsweredQuestion): string | undefined {
  if (name.startsWith('/')) return noValue
  const field = Object.hasOwn(fields, name) ? fields[name] : undefined
  return field && String(field(answered))
}

function isWanted({ classes }: LogRule, { message }: AnsweredQuestion): boolean {
  return classes.includes('all') || (message !== undefined && classes.includes(classOf(message)))
}

/** Returns the class of an answer as CoreDNS defines it: a missing name or type with an SOA is a denial. */
function classOf(message: Buffer): LogClass {
  const { rcode: code, records } = readLayout(message, message.length)
  const hasAnswer = records.some(({ section }) => section === 'answer')
  const hasSoa = records.some(({ section, type }) => section === 'authority' && type === recordType.SOA)
  if (code === rcode.NOERROR) return hasSoa && !hasAnswer ? 'denial' : 'success'
  return code === rcode.NXDOMAIN && hasSoa ? 'denial' : 'error'
}

function flagsOf(message: Buffer): number {
  return readUint16(message, 2)
}

function bracketed(address: string): string {
  return address.includes(':') ? `[${address}]` : address
}

function renderFlags(flags: number): string {
  return Object.entries(flagNames)
    .filter(([, bit]) => (flags & bit) !== 0)
    .map(([name]) => name)
    .join(',')
}
