import type { Directive } from '../../corefile/blocks.ts'
import type { Fallthrough } from '../../corefile/fallthrough.ts'
import type { Token } from '../../corefile/lexer.ts'
import {
  badValue,
  locationOf,
  readArg,
  readArgs,
  readInteger,
  readOptions,
  readPattern,
} from '../../corefile/values.ts'
import type { ServerKey } from '../../corefile/zones.ts'
import { readFallthrough, zonesOr } from '../../corefile/zones.ts'
import { classCode, rcode, rcodeCode, typeCode } from '../../wire/codes.ts'
import type { TemplateSettings } from './settings.ts'
import { compileTemplate } from './text-template.ts'

const many = Number.POSITIVE_INFINITY

/** Reads `template CLASS TYPE [ZONES…] { match …; answer …; additional …; authority …; rcode …; ederror …; fallthrough … }`. */
export function readTemplate(directive: Directive, keys: readonly ServerKey[]): TemplateSettings {
  const [className, typeName, ...zones] = readArgs(directive, 2, many)
  const lists = { match: [] as string[], answer: [] as string[], additional: [] as string[], authority: [] as string[] }
  let code: number = rcode.NOERROR
  let fallthrough: Fallthrough
  let extendedError: TemplateSettings['extendedError']
  readOptions(directive, {
    match: (option) => lists.match.push(...readArgs(option, 1, many).map(readPattern)),
    answer: (option) => lists.answer.push(...texts(option)),
    additional: (option) => lists.additional.push(...texts(option)),
    authority: (option) => lists.authority.push(...texts(option)),
    rcode: (option) => {
      const value = rcodeCode(readArg(option).text)
      if (value === undefined) throw badValue(readArg(option), 'an rcode like NXDOMAIN')
      code = value
    },
    ederror: (option) => {
      const [number, reason] = readArgs(option, 1, 2)
      extendedError = { code: readInteger(number ?? option.name, { max: 0xffff }), reason: reason?.text ?? '' }
    },
    fallthrough: (option) => {
      fallthrough = readFallthrough(option.args)
    },
    upstream: () => undefined,
  })
  return {
    location: locationOf(directive.name),
    class: readCode(className ?? directive.name, classCode, 'a class'),
    type: readCode(typeName ?? directive.name, typeCode, 'a type'),
    zones: zonesOr(zones, keys),
    ...lists,
    rcode: code,
    ...(extendedError !== undefined && { extendedError }),
    fallthrough,
  }
}

function texts(option: Directive): readonly string[] {
  return readArgs(option, 1, many).map((token) => {
    if (compileTemplate(token.text) !== undefined) return token.text
    throw badValue(token, 'fields, index, parseInt, print or len in {{ }}')
  })
}

function readCode(token: Token, code: (text: string) => number | undefined, what: string): number {
  const value = code(token.text)
  if (value === undefined) throw badValue(token, what)
  return value
}
