import type { LogClass, LogRule } from '../corefile/settings.ts'
import { className, flag, rcodeName, typeName } from '../wire/codes.ts'
import { isUnder, nameText } from '../wire/name.ts'
import type { Query } from '../wire/query.ts'
import type { Asker } from './responder.ts'

/** One answered question, as a line of the log tells it. */
export interface AnsweredQuestion {
  readonly query: Query
  readonly asker: Asker
  /** The third and fourth byte of the answer. */
  readonly flags: number
  readonly length: number
  readonly seconds: number
}

type Field = (answered: AnsweredQuestion) => string | number

const fields: Readonly<Record<string, Field>> = {
  remote: ({ asker }) => (asker.address.includes(':') ? `[${asker.address}]` : asker.address),
  port: ({ asker }) => asker.port,
  proto: ({ asker }) => asker.transport,
  type: ({ query }) => typeName(query.type),
  class: ({ query }) => className(query.class),
  name: ({ query }) => nameText(query.name),
  size: ({ query }) => query.length,
  rcode: ({ flags }) => rcodeName(flags & 0xf),
  rsize: ({ length }) => length,
  duration: ({ seconds }) => `${seconds.toFixed(9)}s`,
  '>id': ({ query }) => query.id,
  '>opcode': () => 0,
  '>do': ({ query }) => String(query.dnssecOk),
  '>bufsize': ({ query }) => query.udpSize,
  '>rflags': ({ flags }) => renderFlags(flags),
}

const flagNames = { qr: flag.QR, aa: flag.AA, tc: flag.TC, rd: flag.RD, ra: flag.RA, ad: flag.AD, cd: flag.CD } as const

/** The lines that the rules want of an answer, one a rule; none where no rule wants it. */
export function renderLogLines(rules: readonly LogRule[], answered: AnsweredQuestion): readonly string[] {
  const own = classesOf(answered)
  return rules
    .filter(({ zone, classes }) => isUnder(answered.query.name, zone) && classes.some((one) => own.includes(one)))
    .map(({ format }) => format.replace(/\{([^{}]+)\}/g, (text, name: string) => renderField(name, answered) ?? text))
}

function renderField(name: string, answered: AnsweredQuestion): string | undefined {
  const field = Object.hasOwn(fields, name) ? fields[name] : undefined
  return field && String(field(answered))
}

/** As CoreDNS has them: what exists, what does not, and what went wrong. */
function classesOf({ flags }: AnsweredQuestion): readonly LogClass[] {
  const code = flags & 0xf
  if (code === 0) return ['all', 'success']
  return code === 3 ? ['all', 'denial'] : ['all', 'error']
}

function renderFlags(flags: number): string {
  return Object.entries(flagNames)
    .filter(([, bit]) => (flags & bit) !== 0)
    .map(([name]) => name)
    .join(',')
}
