import { hasTextFormat } from '../../schema/formats.ts'
import { labelValueRule, qualifiedNameRule } from '../../schema/metadata-rules.ts'
import { checkDns1035Label, checkDnsLabel, checkDnsSubdomain } from '../../schema/names.ts'
import { ItemList } from '../values/lists.ts'
import { parseType } from '../values/types.ts'
import { none, OpaqueValue, OptionalValue } from '../values/values.ts'
import type { CelFunction } from './declarations.ts'
import { isUrl } from './urls.ts'

type Check = (text: string) => string | undefined

/** A format by its name. */
export class FormatValue extends OpaqueValue {
  readonly type = parseType('kubernetes.NamedFormat')
  readonly name: string
  /** The length of the pattern that costs as much as this check. */
  readonly patternSize: number
  /** Returns the error of a text; undefined for a text that has the format. */
  readonly problem: Check

  constructor(name: string, patternSize: number, problem: Check) {
    super()
    this.name = name
    this.patternSize = patternSize
    this.problem = problem
  }

  equals(other: OpaqueValue): boolean {
    return other instanceof FormatValue && other.name === this.name
  }
}

/** Returns a check for the prefix of a generated name, which may end with a dash. */
function prefixed(check: Check): Check {
  return (text) => check(text.replace(/-$/, 'a'))
}

const qualified = /^(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/

function checkQualified(text: string): string | undefined {
  const parts = text.split('/')
  if (parts.length > 2)
    return `a qualified ${qualifiedNameRule.replace('name part', 'name')} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`
  const [prefix, name = ''] = parts.length > 1 ? parts : [undefined, parts[0]]
  if (prefix === '') return 'prefix part must be non-empty'
  const wrong = prefix === undefined ? undefined : checkDnsSubdomain(prefix)
  if (wrong !== undefined) return `prefix part ${wrong}`
  if (name === '') return 'name part must be non-empty'
  if (name.length > 63) return 'name part must be no more than 63 characters'
  return qualified.test(name) ? undefined : qualifiedNameRule
}

function checkLabelValue(text: string): string | undefined {
  if (text.length > 63) return 'must be no more than 63 characters'
  return text === '' || qualified.test(text) ? undefined : labelValueRule
}

function structured(format: string, otherwise: string): Check {
  return (text) => (hasTextFormat(format, text) ? undefined : otherwise)
}

const uriProblem: Check = (text) => (isUrl(text) ? undefined : `parse ${JSON.stringify(text)}: invalid URI for request`)

const formats: ReadonlyMap<string, FormatValue> = new Map(
  (
    [
      ['dns1123Label', 30, checkDnsLabel],
      ['dns1123Subdomain', 60, checkDnsSubdomain],
      ['dns1035Label', 30, checkDns1035Label],
      ['qualifiedName', 60, checkQualified],
      ['dns1123LabelPrefix', 30, prefixed(checkDnsLabel)],
      ['dns1123SubdomainPrefix', 60, prefixed(checkDnsSubdomain)],
      ['dns1035LabelPrefix', 30, prefixed(checkDns1035Label)],
      ['labelValue', 40, checkLabelValue],
      ['uri', 1103, uriProblem],
      ['uuid', 70, structured('uuid', 'does not match the UUID format')],
      ['byte', 84, structured('byte', 'invalid base64')],
      ['date', 71, structured('date', 'invalid date')],
      ['datetime', 71, structured('date-time', 'invalid datetime')],
    ] as const
  ).map(([name, size, check]) => [name, new FormatValue(name, size, check)]),
)

function named(name: string): OptionalValue {
  const format = formats.get(name)
  return format === undefined ? none : new OptionalValue(format)
}

function validate({ problem }: FormatValue, text: string): OptionalValue {
  const found = problem(text)
  return found === undefined ? none : new OptionalValue(new ItemList([found]))
}

/** The format library of Kubernetes: `!format.dns1123Label().validate(name).hasValue()`. */
export const formatFunctions: readonly CelFunction[] = [
  ...[...formats].map(([name, format]): CelFunction => [`format.${name}(): kubernetes.NamedFormat`, () => format]),
  ['format.named(string): optional_type(kubernetes.NamedFormat)', named],
  ['kubernetes.NamedFormat.validate(string): optional_type(list(string))', validate],
]
