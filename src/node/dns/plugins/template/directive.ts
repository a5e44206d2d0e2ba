import type { Directive } from '../../corefile/blocks.ts'
import type { Token } from '../../corefile/lexer.ts'
import {
  badValue,
  locationOf,
  type OptionReaders,
  readArg,
  readArgs,
  readInteger,
  readManyArgs,
  readOptions,
  readPattern,
} from '../../corefile/values.ts'
import type { ServerKey } from '../../corefile/zones.ts'
import { readFallthrough, zonesOr } from '../../corefile/zones.ts'
import { classCode, rcode, rcodeCode, typeCode } from '../../wire/codes.ts'
import type { TemplateSettings } from './settings.ts'
import { compileTemplate } from './text-template.ts'

const many = Number.POSITIVE_INFINITY

type TemplateOptions = Omit<TemplateSettings, 'location' | 'class' | 'type' | 'zones'>

const defaults: TemplateOptions = {
  match: [],
  answer: [],
  additional: [],
  authority: [],
  rcode: rcode.NOERROR,
  fallthrough: undefined,
}

const options: OptionReaders<TemplateOptions> = {
  additional: { list: 'additional', read: texts },
  answer: { list: 'answer', read: texts },
  authority: { list: 'authority', read: texts },
  ederror: (option) => {
    const [number, reason] = readArgs(option, 1, 2)
    return { extendedError: { code: readInteger(number ?? option.name, { max: 0xffff }), reason: reason?.text ?? '' } }
  },
  fallthrough: (option) => ({ fallthrough: readFallthrough(option.args) }),
  match: { list: 'match', read: (option) => readManyArgs(option).map(readPattern) },
  rcode: (option) => ({ rcode: readCode(readArg(option), rcodeCode, 'an rcode like NXDOMAIN') }),
  upstream: () => ({}),
}

/** Reads `template CLASS TYPE [ZONES…] { match …; answer …; additional …; authority …; rcode …; ederror …; fallthrough … }`. */
export function readTemplate(directive: Directive, keys: readonly ServerKey[]): TemplateSettings {
  const [className, typeName, ...zones] = readArgs(directive, 2, many)
  const settings = readOptions(directive, defaults, options)
  return {
    location: locationOf(directive.name),
    class: readCode(className ?? directive.name, classCode, 'a class'),
    type: readCode(typeName ?? directive.name, typeCode, 'a type'),
    zones: zonesOr(zones, keys),
    ...settings,
  }
}

function texts(option: Directive): readonly string[] {
  return readManyArgs(option).map((token) => {
    if (compileTemplate(token.text) !== undefined) return token.text
    throw badValue(token, 'fields, index, parseInt, print or len in {{ }}')
  })
}

function readCode(token: Token, code: (text: string) => number | undefined, what: string): number {
  const value = code(token.text)
  if (value === undefined) throw badValue(token, what)
  return value
}
