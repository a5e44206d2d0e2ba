import type { Json, JsonObject } from '../../model/api-object.ts'
import { isJsonObject, jsonTypeName } from '../document.ts'
import { numberOf } from '../exact-json.ts'
import { canonicalText } from './canonical-text.ts'
import { childSchema } from './child-schema.ts'
import { oldField, oldItems, Sameness } from './correlate.ts'
import {
  type FieldError,
  invalidField,
  requiredField,
  tooLongField,
  tooManyField,
  typeInvalidField,
  unsupportedField,
} from './field-error.ts'
import { hasTextFormat, isInNumberRange } from './formats.ts'
import { duplicateItems } from './list-types.ts'
import { joinPath } from './map-json.ts'
import { checkMetadata } from './metadata-rules.ts'
import { checkPathSegment } from './names.ts'
import { Patterns } from './pattern.ts'
import { noProperty, type Schema } from './schema.ts'

/** The largest number of errors in one response. */
const maxErrors = 100
/** The limit of checked values: the largest object has less than a million, and this many take about half a second. */
const maxSteps = 2_000_000
const tooMuch = 'there are too many values with too many alternatives in its schema to check them'

/**
 * Checks values against one schema, with Kubernetes' error texts. Never throws, whatever the JSON. A value that needs too many checks
 * (thousands of alternatives for each of many items) is refused. Decoding has bounded the depth of the value.
 */
export class Validator {
  readonly #schema: Schema
  readonly #patterns = new Patterns()
  #sameness = new Sameness()
  #stepsLeft = 0

  constructor(schema: Schema) {
    this.#schema = schema
  }

  /**
   * Returns the errors of a value. `old` is the value before an update: an invalid value that has not changed stays accepted (KEP-4008), so
   * that a schema which became stricter does not lock objects. A list that held an item twice may keep doing so.
   */
  validate(value: Json, path = '', old?: Json): readonly FieldError[] {
    this.#sameness = new Sameness()
    this.#stepsLeft = maxSteps
    const errors = this.#check(this.#schema, value, path, old)
    if (this.#stepsLeft < 0) return [invalidField(path, '', tooMuch)]
    const isKept = old !== undefined && errors.some(isDuplicate) && this.validate(old, path).some(isDuplicate)
    return (isKept ? errors.filter((error) => !isDuplicate(error)) : errors).slice(0, maxErrors)
  }

  #check(schema: Schema, value: Json, path: string, old?: Json): readonly FieldError[] {
    const errors = this.#findErrors(schema, value, path, old)
    const isRatcheted = errors.length > 0 && old !== undefined && this.#sameness.isSame(value, old)
    return isRatcheted ? [] : errors
  }

  #findErrors(schema: Schema, value: Json, path: string, old: Json | undefined): readonly FieldError[] {
    if (value === null && schema.nullable === true) return []
    this.#stepsLeft--
    if (this.#stepsLeft < 0) return []
    const problem = checkType(schema, value, path)
    if (problem !== undefined) return [problem]
    const own = joined(checkEnum(schema, value, path), this.#checkContent(schema, value, path, old))
    const errors = joined(own, this.#checkComposition(schema, value, path))
    return errors.length > maxErrors ? errors.slice(0, maxErrors) : errors
  }

  #checkContent(schema: Schema, value: Json, path: string, old: Json | undefined): readonly FieldError[] {
    if (typeof value === 'string') return this.#checkText(schema, value, path)
    if (Array.isArray(value)) return this.#checkList(schema, value, path, old)
    if (isJsonObject(value)) return this.#checkObject(schema, value, path, old)
    return checkNumber(schema, value, path)
  }

  #checkText(schema: Schema, value: string, path: string): readonly FieldError[] {
    const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern, format } = schema
    const length = value.length > maxLength || value.length < minLength * 2 ? [...value].length : value.length
    const errors: FieldError[] = []
    if (length > maxLength) errors.push(tooLongField(path, maxLength))
    if (length < minLength)
      errors.push(invalidField(path, value, `${path} in body should be at least ${minLength} chars long`))
    if (pattern !== undefined) this.#stepsLeft -= value.length
    if (pattern !== undefined && !this.#patterns.matches(pattern, value)) {
      errors.push(invalidField(path, value, `${path} in body should match '${pattern}'`))
    }
    if (format !== undefined && !hasTextFormat(format, value)) errors.push(formatError(path, format, value))
    return errors
  }

  #checkList(schema: Schema, items: readonly Json[], path: string, old: Json | undefined): readonly FieldError[] {
    const { items: itemSchema, minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema
    if (items.length > maxItems) return [tooManyField(path, items.length, maxItems)]
    const errors: FieldError[] = []
    if (items.length < minItems) {
      errors.push(invalidField(path, items.length, `${path} in body should have at least ${minItems} items`))
    }
    const oldItem = oldItems(schema, old)
    for (const [index, item] of items.entries()) {
      if (itemSchema === undefined || errors.length >= maxErrors) break
      errors.push(...this.#check(itemSchema, item, `${path}[${index}]`, oldItem(item)))
    }
    return joined(errors, duplicateItems(schema, items, path))
  }

  #checkObject(schema: Schema, value: JsonObject, path: string, old: Json | undefined): readonly FieldError[] {
    const errors = [...checkPropertyCount(schema, value, path), ...checkRequired(schema, value, path)]
    if (schema.embeddedResource === true) errors.push(...checkEmbedded(value, path))
    for (const [key, field] of Object.entries(value)) {
      const fieldSchema = childSchema(schema, key)
      if (errors.length >= maxErrors) break
      if (fieldSchema === noProperty) {
        errors.push(invalidField(path, key, `${joinPath(path, key)} in body is a forbidden property`))
      } else if (fieldSchema !== undefined && field !== undefined) {
        errors.push(...this.#check(fieldSchema, field, joinPath(path, key), oldField(old, key)))
      }
    }
    return errors
  }

  /** Checks a composition on the whole value: nothing inside counts as unchanged. */
  #checkComposition(schema: Schema, value: Json, path: string): readonly FieldError[] {
    const { allOf, anyOf, oneOf, not } = schema
    if (allOf === undefined && anyOf === undefined && oneOf === undefined && not === undefined) return noErrors
    const errors: FieldError[] = []
    if (allOf !== undefined) errors.push(...allOf.flatMap((each) => this.#check(each, value, path)))
    if (anyOf !== undefined && anyOf.length > 0) errors.push(...this.#checkAny(anyOf, value, path))
    if (oneOf !== undefined && oneOf.length > 0) errors.push(...this.#checkOne(oneOf, value, path))
    if (not !== undefined && this.#check(not, value, path).length === 0) {
      errors.push(compositionError(path, 'must not validate the schema (not)'))
    }
    return errors
  }

  #checkAny(schemas: readonly Schema[], value: Json, path: string): readonly FieldError[] {
    const results = schemas.map((each) => this.#check(each, value, path))
    if (results.some((errors) => errors.length === 0)) return []
    return [compositionError(path, 'must validate at least one schema (anyOf)'), ...fewestOf(results)]
  }

  #checkOne(schemas: readonly Schema[], value: Json, path: string): readonly FieldError[] {
    const results = schemas.map((each) => this.#check(each, value, path))
    const valid = results.filter((errors) => errors.length === 0).length
    if (valid === 1) return []
    const found = valid === 0 ? 'Found none valid' : `Found ${valid} valid alternatives`
    const error = compositionError(path, `must validate one and only one schema (oneOf). ${found}`)
    return valid === 0 ? [error, ...fewestOf(results)] : [error]
  }
}

const noErrors: readonly FieldError[] = []

/** Joins two lists of errors. Nearly every value has none: then nothing is copied. */
function joined(left: readonly FieldError[], right: readonly FieldError[]): readonly FieldError[] {
  if (left.length === 0) return right
  return right.length === 0 ? left : [...left, ...right]
}

function isDuplicate({ reason }: FieldError): boolean {
  return reason === 'FieldValueDuplicate'
}

function checkType(schema: Schema, value: Json, path: string): FieldError | undefined {
  const found = jsonTypeName(value)
  if (schema.intOrString !== true && (schema.type === undefined || schema.type === found)) return undefined
  const expected = schema.intOrString === true ? ['integer', 'string'] : schema.type === undefined ? [] : [schema.type]
  const isAllowed = expected.some((type) => type === found || (type === 'number' && found === 'integer'))
  if (expected.length === 0 || isAllowed) return undefined
  return typeInvalidField(path, found, `${path} in body must be of type ${expected.join(',')}: "${found}"`)
}

const enumTexts = new WeakMap<readonly Json[], ReadonlySet<string>>()

/** Returns the values as texts, computed once: a long enum is compared with each item of a long list. */
function textsOf(allowed: readonly Json[]): ReadonlySet<string> {
  const texts = enumTexts.get(allowed) ?? new Set(allowed.map(canonicalText))
  enumTexts.set(allowed, texts)
  return texts
}

function checkEnum({ enum: allowed }: Schema, value: Json, path: string): readonly FieldError[] {
  if (allowed === undefined || textsOf(allowed).has(canonicalText(value))) return noErrors
  const supported = allowed.map((each) => (typeof each === 'string' ? each : JSON.stringify(each)))
  return [unsupportedField(path, value, supported)]
}

function checkNumber(schema: Schema, value: Json, path: string): readonly FieldError[] {
  const number = numberOf(value)
  if (number === undefined) return noErrors
  const errors = boundProblems(schema, number).map((why) => invalidField(path, value, `${path} in body ${why}`))
  const { format } = schema
  if (format !== undefined && !isInNumberRange(format, number)) errors.push(formatError(path, format, value))
  return errors
}

function boundProblems(schema: Schema, number: number): readonly string[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  const above = exclusiveBound(exclusiveMinimum, minimum)
  const below = exclusiveBound(exclusiveMaximum, maximum)
  const problems: string[] = []
  if (above !== undefined && number <= above) problems.push(`should be greater than ${above}`)
  else if (minimum !== undefined && number < minimum) problems.push(`should be greater than or equal to ${minimum}`)
  if (below !== undefined && number >= below) problems.push(`should be less than ${below}`)
  else if (maximum !== undefined && number > maximum) problems.push(`should be less than or equal to ${maximum}`)
  if (multipleOf !== undefined && !isMultiple(number, multipleOf))
    problems.push(`should be a multiple of ${multipleOf}`)
  return problems
}

/** Returns the exclusive bound: a flag beside the inclusive bound in OpenAPI 3.0, a bound of its own in 3.1. */
function exclusiveBound(exclusive: boolean | number | undefined, inclusive: number | undefined): number | undefined {
  if (typeof exclusive === 'number') return exclusive
  return exclusive === true ? inclusive : undefined
}

/** Checks for a multiple without binary rounding: 0.3 is a multiple of 0.1. */
function isMultiple(number: number, factor: number): boolean {
  const quotient = number / factor
  return Math.abs(quotient - Math.round(quotient)) < 1e-9 * Math.max(1, Math.abs(quotient))
}

function checkPropertyCount(schema: Schema, value: JsonObject, path: string): FieldError[] {
  const { minProperties = 0, maxProperties = Number.POSITIVE_INFINITY } = schema
  if (schema.minProperties === undefined && schema.maxProperties === undefined) return []
  const count = Object.keys(value).length
  if (count > maxProperties) return [tooManyField(path, count, maxProperties)]
  if (count >= minProperties) return []
  return [invalidField(path, count, `${path} in body should have at least ${minProperties} properties`)]
}

function checkRequired({ required = [] }: Schema, value: JsonObject, path: string): readonly FieldError[] {
  return required.filter((key) => !Object.hasOwn(value, key)).map((key) => requiredField(joinPath(path, key)))
}

function checkEmbedded(value: JsonObject, path: string): readonly FieldError[] {
  const errors = ['apiVersion', 'kind'].flatMap((key) => checkObjectText(value[key], joinPath(path, key)))
  const { metadata } = value
  if (metadata === undefined) return errors
  const metadataPath = joinPath(path, 'metadata')
  if (!isJsonObject(metadata)) return [...errors, invalidField(metadataPath, metadata, 'must be an object')]
  const { name } = metadata
  const problem = typeof name === 'string' ? checkPathSegment(name) : undefined
  const nameErrors = problem === undefined ? [] : [invalidField(`${metadataPath}.name`, name, problem)]
  return [...errors, ...nameErrors, ...checkMetadata(metadata, metadataPath)]
}

function checkObjectText(value: Json | undefined, path: string): readonly FieldError[] {
  if (value === undefined) return [requiredField(path)]
  if (typeof value !== 'string') return [invalidField(path, value, 'must be a string')]
  return value === '' ? [invalidField(path, value, 'must not be empty')] : []
}

function formatError(path: string, format: string, value: Json): FieldError {
  return typeInvalidField(path, value, `${path} in body must be of type ${format}: ${JSON.stringify(value)}`)
}

function compositionError(path: string, why: string): FieldError {
  return invalidField(path, '', `${JSON.stringify(path)} ${why}`)
}

/** Returns the shortest list of errors: that of the nearest alternative. */
function fewestOf(results: readonly (readonly FieldError[])[]): readonly FieldError[] {
  return results.toSorted((a, b) => a.length - b.length)[0] ?? []
}
