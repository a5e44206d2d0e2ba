import type { Json } from '../../model/api-object.ts'
import { schemaExtension } from '../../model/dialect.ts'
import { isJsonObject, jsonTypeName, objectAt, textAt } from '../document.ts'
import { numberOf } from '../exact-json.ts'
import { type FieldError, forbiddenField, invalidField, unsupportedField } from './field-error.ts'
import { isKnownFormat } from './formats.ts'
import { anyProperty, noProperty, type Schema } from './schema.ts'
import type { ValidationRule } from './validation-rule.ts'

export interface ParsedSchema {
  readonly schema: Schema
  readonly errors: readonly FieldError[]
  /** Keywords that are accepted and have no effect. */
  readonly warnings: readonly string[]
}

/** Reads the openAPIV3Schema of a definition (spec 2.2). `path` is where it stands, for the errors. */
export function parseSchema(raw: Json, path: string): ParsedSchema {
  const reading = new SchemaReading()
  const schema = reading.schema(raw, path)
  return { schema, errors: reading.errors, warnings: reading.warnings }
}

type MutableSchema = { -readonly [Key in keyof Schema]: Schema[Key] | undefined }

const types = ['array', 'boolean', 'integer', 'number', 'object', 'string'] as const
const listTypes = ['atomic', 'set', 'map'] as const
const mapTypes = ['atomic', 'granular'] as const

/** The JSON schema keywords that structural schemas exclude. */
const unsupported = [
  '$ref',
  'additionalItems',
  'definitions',
  'dependencies',
  'id',
  'patternProperties',
  'deprecated',
  'discriminator',
  'readOnly',
  'writeOnly',
  'xml',
]
/** The keywords for documentation only; they have no effect on instances. */
const documentation = ['externalDocs', 'example', '$schema']

const numberKeywords = ['minimum', 'maximum', 'multipleOf'] as const
const countKeywords = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'] as const
const flagKeywords = ['nullable'] as const
const textKeywords = ['format', 'title', 'description', 'pattern'] as const
const ruleFields = ['rule', 'message', 'messageExpression', 'reason', 'fieldPath'] as const
const listKeywords = ['allOf', 'anyOf', 'oneOf'] as const

class SchemaReading {
  readonly errors: FieldError[] = []
  readonly warnings: string[] = []

  schema(raw: Json, path: string): Schema {
    if (!isJsonObject(raw)) return this.#wrong(raw, path, 'must be a schema object') ?? {}
    const schema: MutableSchema = {}
    for (const [keyword, value] of Object.entries(raw)) {
      if (value !== undefined && value !== null) this.#read(schema, keyword, value, `${path}.${keyword}`)
    }
    return withoutAbsent(schema)
  }

  #read(schema: MutableSchema, keyword: string, value: Json, path: string): void {
    const extension = schemaExtension(keyword)
    if (extension !== undefined) this.#readExtension(schema, extension, value, path)
    else if (isOneOf(numberKeywords, keyword)) schema[keyword] = this.#number(value, path)
    else if (isOneOf(countKeywords, keyword)) schema[keyword] = this.#count(value, path)
    else if (isOneOf(flagKeywords, keyword)) schema[keyword] = this.#flag(value, path)
    else if (isOneOf(textKeywords, keyword)) this.#readText(schema, keyword, value, path)
    else if (isOneOf(listKeywords, keyword)) schema[keyword] = this.#schemas(value, path)
    else if (unsupported.includes(keyword)) this.errors.push(forbiddenField(path, `${keyword} is not supported`))
    else this.#readOther(schema, keyword, value, path)
  }

  #readOther(schema: MutableSchema, keyword: string, value: Json, path: string): void {
    switch (keyword) {
      case 'type':
        if (value !== '') schema.type = this.#choice(types, value, path)
        return
      case 'default':
        schema.default = value
        return
      case 'enum':
        schema.enum = Array.isArray(value) ? value : this.#wrong(value, path, 'must be an array')
        return
      case 'required':
        schema.required = this.#texts(value, path)
        return
      case 'properties':
        schema.properties = this.#schemaMap(value, path)
        return
      case 'not':
        schema.not = this.schema(value, path)
        return
      default:
        this.#readRest(schema, keyword, value, path)
    }
  }

  #readRest(schema: MutableSchema, keyword: string, value: Json, path: string): void {
    switch (keyword) {
      case 'items':
        if (Array.isArray(value))
          this.errors.push(forbiddenField(path, 'items must be a schema object and not an array'))
        else schema.items = this.schema(value, path)
        return
      case 'additionalProperties':
        this.#readAdditional(schema, value, path)
        return
      case 'exclusiveMinimum':
      case 'exclusiveMaximum':
        schema[keyword] = typeof value === 'boolean' ? value : this.#number(value, path)
        return
      case 'uniqueItems':
        if (value !== false)
          this.errors.push(
            forbiddenField(path, 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic'),
          )
        return
      default:
        if (!documentation.includes(keyword)) this.warnings.push(`unknown field "${path}"`)
    }
  }

  #readAdditional(schema: MutableSchema, value: Json, path: string): void {
    if (value === false) schema.additionalProperties = noProperty
    else schema.additionalProperties = value === true ? anyProperty : this.schema(value, path)
  }

  #readText(schema: MutableSchema, keyword: (typeof textKeywords)[number], value: Json, path: string): void {
    const text = this.#text(value, path)
    if (text === undefined || text === '') return
    schema[keyword] = text
    if (keyword === 'format' && !isKnownFormat(text))
      this.warnings.push(`${path}: unrecognized format ${JSON.stringify(text)}`)
  }

  #readExtension(schema: MutableSchema, extension: string, value: Json, path: string): void {
    switch (extension) {
      case 'preserve-unknown-fields':
        if (value === true) schema.preserveUnknownFields = true
        else this.#wrong(value, path, 'must be true or undefined')
        return
      case 'int-or-string':
        schema.intOrString = this.#flag(value, path)
        return
      case 'embedded-resource':
        schema.embeddedResource = this.#flag(value, path)
        return
      case 'list-type':
        schema.listType = this.#choice(listTypes, value, path)
        return
      case 'list-map-keys':
        schema.listMapKeys = this.#texts(value, path)
        return
      case 'map-type':
        schema.mapType = this.#choice(mapTypes, value, path)
        return
      case 'group-version-kind':
        return
      case 'validations':
        schema.validations = this.#rules(value, path)
        return
      default:
        this.warnings.push(`unknown field "${path}"`)
    }
  }

  #rules(value: Json, path: string): readonly ValidationRule[] | undefined {
    if (!Array.isArray(value)) return this.#wrong(value, path, 'must be an array of rules')
    const keyword = path.slice(path.lastIndexOf('.') + 1)
    return (value as readonly Json[]).map((each, index): ValidationRule => {
      if (!isJsonObject(each)) this.#wrong(each, `${path}[${index}]`, 'must be an object')
      const [rule = '', message = '', messageExpression = '', reason = '', fieldPath = ''] = ruleFields.map((field) =>
        textAt(each, field),
      )
      const optional = objectAt(each)['optionalOldSelf']
      const optionalOldSelf = typeof optional === 'boolean' ? optional : undefined
      return { keyword, rule, message, messageExpression, reason, fieldPath, optionalOldSelf }
    })
  }

  #number(value: Json, path: string): number | undefined {
    return numberOf(value) ?? this.#wrong(value, path, 'must be a number')
  }

  #count(value: Json, path: string): number | undefined {
    const number = numberOf(value)
    const isCount = number !== undefined && Number.isInteger(number) && number >= 0
    return isCount ? number : this.#wrong(value, path, 'must be a whole number that is not negative')
  }

  #flag(value: Json, path: string): true | undefined {
    if (value === true || value === false) return value || undefined
    return this.#wrong(value, path, 'must be a boolean')
  }

  #text(value: Json, path: string): string | undefined {
    return typeof value === 'string' ? value : this.#wrong(value, path, 'must be a string')
  }

  #texts(value: Json, path: string): readonly string[] | undefined {
    if (!Array.isArray(value)) return this.#wrong(value, path, 'must be an array of strings')
    return value.map((each, index) => this.#text(each, `${path}[${index}]`) ?? '')
  }

  #choice<Choice extends string>(choices: readonly Choice[], value: Json, path: string): Choice | undefined {
    const choice = choices.find((each) => each === value)
    if (choice === undefined) this.errors.push(unsupportedField(path, value, choices))
    return choice
  }

  #schemas(value: Json, path: string): readonly Schema[] | undefined {
    if (!Array.isArray(value)) return this.#wrong(value, path, 'must be an array of schemas')
    return value.map((each, index) => this.schema(each, `${path}[${index}]`))
  }

  #schemaMap(value: Json, path: string): Readonly<Record<string, Schema>> | undefined {
    if (!isJsonObject(value)) return this.#wrong(value, path, 'must be an object of schemas')
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, this.schema(each ?? {}, `${path}[${key}]`)]),
    )
  }

  #wrong(value: Json, path: string, why: string): undefined {
    const shown = typeof value === 'object' ? jsonTypeName(value) : value
    this.errors.push(invalidField(path, shown, why))
  }
}

function isOneOf<Choice extends string>(choices: readonly Choice[], text: string): text is Choice {
  return choices.some((choice) => choice === text)
}

function withoutAbsent(schema: MutableSchema): Schema {
  return Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== undefined)) as Schema
}
