import { Optional } from '@marcbachmann/cel-js'
import { hasTextFormat } from '../../schema/formats.ts'
import type { CelFunction } from '../environment.ts'

/** A format by its name; `problem` is undefined for a text that has it. */
export class FormatValue {
  readonly name: string
  readonly problem: (text: string) => string | undefined

  constructor(name: string, problem: (text: string) => string | undefined) {
    this.name = name
    this.problem = problem
  }

  toString(): string {
    return this.name
  }
}

const label = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/
const subdomain = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/
const dns1035 = /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/
const qualified = /^(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/

function shaped(pattern: RegExp, maxLength: number, what: string): (text: string) => string | undefined {
  return (text) => {
    if (text.length > maxLength) return `must be no more than ${maxLength} characters`
    return pattern.test(text) ? undefined : `${what} must match ${pattern.source}`
  }
}

function prefixed(check: (text: string) => string | undefined): (text: string) => string | undefined {
  return (text) => check(text.replace(/-$/, 'a'))
}

function checkQualified(text: string): string | undefined {
  const parts = text.split('/')
  const [prefix, name = ''] = parts.length > 1 ? parts : [undefined, parts[0]]
  if (parts.length > 2) return 'a qualified name must consist of a name and at most one prefix'
  const wrong = prefix === undefined ? undefined : shaped(subdomain, 253, 'prefix part')(prefix)
  return wrong ?? shaped(qualified, 63, 'name part')(name)
}

function structured(format: string): (text: string) => string | undefined {
  return (text) => (hasTextFormat(format, text) ? undefined : `invalid ${format}`)
}

const checks: Readonly<Record<string, (text: string) => string | undefined>> = {
  dns1123Label: shaped(label, 63, 'a lowercase RFC 1123 label'),
  dns1123Subdomain: shaped(subdomain, 253, 'a lowercase RFC 1123 subdomain'),
  dns1035Label: shaped(dns1035, 63, 'a DNS-1035 label'),
  qualifiedName: checkQualified,
  dns1123LabelPrefix: prefixed(shaped(label, 63, 'a lowercase RFC 1123 label')),
  dns1123SubdomainPrefix: prefixed(shaped(subdomain, 253, 'a lowercase RFC 1123 subdomain')),
  dns1035LabelPrefix: prefixed(shaped(dns1035, 63, 'a DNS-1035 label')),
  labelValue: (text) => (text === '' ? undefined : shaped(qualified, 63, 'a label value')(text)),
  uri: structured('uri'),
  uuid: structured('uuid'),
  byte: structured('byte'),
  date: structured('date'),
  datetime: structured('date-time'),
}

const formats = new Map(Object.entries(checks).map(([name, check]) => [name, new FormatValue(name, check)]))

/** Kubernetes' format library: `!format.dns1123Label().validate(name).hasValue()`. */
export const formatFunctions: readonly CelFunction[] = [
  ...[...formats].map(([name, format]): CelFunction => [`FormatNamespace.${name}(): kubernetes.Format`, () => format]),
  [
    'FormatNamespace.named(string): optional<kubernetes.Format>',
    (_: unknown, name: string) => Optional.of(formats.get(name)),
  ],
  [
    'kubernetes.Format.validate(string): optional<list<string>>',
    ({ problem }: FormatValue, text: string) => {
      const found = problem(text)
      return Optional.of(found === undefined ? undefined : [found])
    },
  ],
]
