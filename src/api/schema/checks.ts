import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../model/api-object.ts'
import { isJsonObject, listAt, objectAt, textAt } from '../document.ts'
import { duplicateField, type FieldError, invalidField, requiredField, unsupportedField } from './field-error.ts'

/** Returns the errors of a value; `path` names the value: `spec.containers[0].ports`. Types have been checked before. */
export type Check = (value: Json, path: string) => readonly FieldError[]

const none: readonly FieldError[] = []

/** Checks the named fields that an object has; a field that is absent or null passes. */
export function fields(table: Readonly<Record<string, Check | readonly Check[]>>): Check {
  const entries = Object.entries(table).map(([name, checks]) => [name, all(checks)] as const)
  return (value, path) => {
    if (!isJsonObject(value)) return none
    let errors: FieldError[] | undefined
    for (const [name, check] of entries) errors = join(errors, checkField(value, name, path, check))
    return errors ?? none
  }
}

function checkField(object: JsonObject, name: string, path: string, check: Check): readonly FieldError[] {
  const value = Object.hasOwn(object, name) ? object[name] : undefined
  return value === undefined || value === null ? none : check(value, path === '' ? name : `${path}.${name}`)
}

/** Checks one field of an object by a check that depends on other fields; it is made only where the field is there. */
export function fieldOf(object: Json, name: string, path: string, check: () => Check | readonly Check[]) {
  const value = isJsonObject(object) && Object.hasOwn(object, name) ? object[name] : undefined
  return value === undefined || value === null ? none : all(check())(value, `${path}.${name}`)
}

/** Joins two lists of errors. Nearly every value is valid, so no list is made before the first error. */
function join(errors: FieldError[] | undefined, more: readonly FieldError[]): FieldError[] | undefined {
  if (more.length === 0) return errors
  const joined = errors ?? []
  for (const error of more) joined.push(error)
  return joined
}

/** Combines the checks of the list into one. */
export function all(checks: Check | readonly Check[]): Check {
  if (typeof checks === 'function') return checks
  return (value, path) => {
    let errors: FieldError[] | undefined
    for (const check of checks) errors = join(errors, check(value, path))
    return errors ?? none
  }
}

/** Checks every item of a list. */
export function each(...checks: readonly Check[]): Check {
  const check = all(checks)
  return (value, path) => {
    if (!Array.isArray(value)) return none
    let errors: FieldError[] | undefined
    for (let index = 0; index < value.length; index++) errors = join(errors, check(value[index], `${path}[${index}]`))
    return errors ?? none
  }
}

/** Checks that the named fields are present and not empty. */
export function required(...names: readonly string[]): Check {
  return (value, path) =>
    names.filter((name) => isEmpty(objectAt(value)[name])).map((name) => requiredField(`${path}.${name}`))
}

function isEmpty(value: Json | undefined): boolean {
  return value === undefined || value === null || value === '' || value === 0
}

/** Checks that a text is one of the values; an empty text counts as absent. */
export function oneOf(...supported: readonly string[]): Check {
  return (value, path) =>
    value === '' || (typeof value === 'string' && supported.includes(value))
      ? []
      : [unsupportedField(path, value, supported)]
}

/** Checks that a text is one of the values; an empty text is none of them. */
export function exactlyOneOf(...supported: readonly string[]): Check {
  return (value, path) => (supported.includes(textAt(value)) ? none : [unsupportedField(path, value, supported)])
}

/** Checks a text with `rule`; an empty text counts as absent. */
export function text(rule: (text: string) => string | undefined): Check {
  return (value, path) => {
    const why = typeof value === 'string' && value !== '' ? rule(value) : undefined
    return why === undefined ? [] : [invalidField(path, value, why)]
  }
}

/** Checks a text with `rule`, the empty text included. */
export function strictText(rule: (text: string) => string | undefined): Check {
  return (value, path) => {
    const why = typeof value === 'string' ? rule(value) : undefined
    return why === undefined ? [] : [invalidField(path, value, why)]
  }
}

export function between(minimum: number, maximum: number, why: string): Check {
  return (value, path) => {
    const number = Number(textAt(value))
    return number >= minimum && number <= maximum ? [] : [invalidField(path, value, why)]
  }
}

export const nonNegative: Check = between(0, Number.MAX_SAFE_INTEGER, 'must be greater than or equal to 0')

/** Checks that the field differs in every item; items without it are not compared. */
export function unique(field: string): Check {
  return (value, path) => {
    const seen = new Set<string>()
    return listAt(value).flatMap((item, index) => {
      const text = textAt(item, field)
      const isRepeated = text !== '' && (seen.has(text) || !seen.add(text))
      return isRepeated ? [duplicateField(`${path}[${index}].${field}`, text)] : []
    })
  }
}

/** Checks that an update leaves a value as it was; an absent one equals null. */
export function checkKept(value: Json | undefined, old: Json | undefined, path: string): readonly FieldError[] {
  return isDeepStrictEqual(value ?? null, old ?? null) ? [] : [invalidField(path, value, 'field is immutable')]
}

/** Returns the indices of items that repeat an earlier one. */
export function repeatedItems(items: readonly string[]): ReadonlySet<number> {
  const seen = new Set<string>()
  return new Set(items.flatMap((item, index) => (seen.size === seen.add(item).size ? [index] : [])))
}
