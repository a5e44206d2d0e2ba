import type { Json } from '../../model/api-object.ts'
import { textAt } from '../document.ts'
import type { Check } from '../schema/checks.ts'
import { type FieldError, invalidField } from '../schema/field-error.ts'
import { labelValueProblems, qualifiedNameProblems } from '../schema/metadata-rules.ts'
import { checkDnsLabel, checkDnsSubdomain, checkPortNumber } from '../schema/names.ts'

/** Checks of fields in which an empty text is invalid, unlike in `text` of `schema/checks.ts`. */

export const dnsLabel: Check = by(checkDnsLabel)
export const nodeName: Check = by(checkDnsSubdomain)
export const qualifiedName: Check = (value, path) => invalid(qualifiedNameProblems(textAt(value)), value, path)
export const labelValue: Check = (value, path) => invalid(labelValueProblems(textAt(value)), value, path)

export const portNumber: Check = (value, path) => {
  const why = checkPortNumber(Number(textAt(value)))
  return why === undefined ? none : [invalidField(path, value, why)]
}

const none: readonly FieldError[] = []

function by(rule: (text: string) => string | undefined): Check {
  return (value, path) => {
    const why = rule(textAt(value))
    return why === undefined ? none : [invalidField(path, value, why)]
  }
}

function invalid(problems: readonly string[], value: Json, path: string): readonly FieldError[] {
  return problems.length === 0 ? none : problems.map((why) => invalidField(path, value, why))
}
