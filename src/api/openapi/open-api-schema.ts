import type { Json, JsonObject } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { descriptionOf } from '../schema/kind-tables.ts'
import { anyProperty, type Schema } from '../schema/schema.ts'
import type { ValidationRule } from '../schema/validation-rule.ts'
import { typeComponentName } from './component-names.ts'

/** Returns the reference to a component of version 3. */
export function referenceTo(name: string): string {
  return `#/components/schemas/${name}`
}

/** Collects the types that several kinds share, by name: a document contains each once and refers to it. */
export class SharedTypes {
  readonly #schemas = new Map<string, JsonObject>()
  /** The dialect of the document: the platform dialect has its own extensions beside those of Kubernetes. */
  readonly dialect: Dialect['name']

  constructor(dialect: Dialect['name']) {
    this.dialect = dialect
  }

  /** Returns the reference to a type, and adds the type with all types that it refers to. */
  refer(typeName: string, schema: Schema): JsonObject {
    const name = typeComponentName(typeName, this.dialect)
    if (!this.#schemas.has(name)) {
      const { typeName: _, default: _own, ...type } = withoutPlace(schema)
      this.#schemas.set(name, {})
      const description = descriptionOf(typeName, '')
      this.#schemas.set(name, { ...(description === undefined ? {} : { description }), ...toOpenApiSchema(type, this) })
    }
    return { $ref: referenceTo(name) }
  }

  all(): JsonObject {
    return Object.fromEntries(this.#schemas)
  }
}

/**
 * Returns a schema in the form of OpenAPI v3. Empty and false values are omitted (spec 2.2 rule 6); a zero or an empty default stays, because it has
 * a meaning.
 */
export function toOpenApiSchema(schema: Schema, shared: SharedTypes): JsonObject {
  if (schema.typeName === undefined)
    return compact({ ...plainKeywords(schema), ...nested(schema, shared), ...extensions(schema, shared) })
  const reference = shared.refer(schema.typeName, schema)
  const own = compact({ default: schema.default, description: schema.description, ...patchExtensions(schema) })
  return Object.keys(own).length === 0 ? reference : { ...own, allOf: [reference] }
}

const plainNames = [
  ...([
    'type',
    'format',
    'title',
    'description',
    'required',
    'default',
    'nullable',
    'enum',
    'pattern',
    'multipleOf',
  ] as const),
  ...(['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'minLength', 'maxLength'] as const),
  ...(['minItems', 'maxItems', 'minProperties', 'maxProperties'] as const),
]

function plainKeywords(schema: Schema): JsonObject {
  return Object.fromEntries(plainNames.map((name) => [name, schema[name]]))
}

function nested(schema: Schema, shared: SharedTypes): JsonObject {
  const each = (schemas: readonly Schema[] | undefined) => schemas?.map((item) => toOpenApiSchema(item, shared))
  const one = (inner: Schema | undefined) => (inner === undefined ? undefined : toOpenApiSchema(inner, shared))
  const { properties } = schema
  const entries = Object.entries(properties ?? {}).map(([name, inner]) => [name, toOpenApiSchema(inner, shared)])
  return {
    properties: entries.length === 0 ? undefined : Object.fromEntries(entries),
    additionalProperties: additionalProperties(schema, shared),
    items: one(schema.items),
    allOf: each(schema.allOf),
    ...alternatives(schema, each),
    not: one(schema.not),
  }
}

function additionalProperties({ additionalProperties: each }: Schema, shared: SharedTypes): Json | undefined {
  if (each === anyProperty) return true
  return each === undefined ? undefined : toOpenApiSchema(each, shared)
}

/** Returns the alternatives; a definition may write the two types of an integer or string itself. */
function alternatives(schema: Schema, each: (schemas: readonly Schema[] | undefined) => Json | undefined): JsonObject {
  const { intOrString, format, anyOf, oneOf } = schema
  if (intOrString !== true) return { anyOf: each(anyOf), oneOf: each(oneOf) }
  const isBuiltIn = format === 'quantity' || format === 'int-or-string'
  const types = [{ type: format === 'quantity' ? 'number' : 'integer' }, { type: 'string' }]
  return isBuiltIn ? { oneOf: types } : { anyOf: each(anyOf) ?? types, oneOf: each(oneOf) }
}

/** Returns the extensions: the names that Kubernetes clients read, and the platform's own beside the one that its documents promise. */
function extensions(schema: Schema, { dialect }: SharedTypes): JsonObject {
  return {
    'x-kubernetes-int-or-string': schema.intOrString === true && schema.format !== 'quantity',
    'x-kubernetes-preserve-unknown-fields': schema.preserveUnknownFields,
    'x-platform-preserve-unknown-fields': dialect === 'platform' && schema.preserveUnknownFields,
    'x-kubernetes-embedded-resource': schema.embeddedResource,
    'x-kubernetes-map-type': schema.mapType,
    'x-kubernetes-validations': schema.validations?.map(toRule),
    ...patchExtensions(schema),
  }
}

function toRule({ keyword: _, ...rule }: ValidationRule): JsonObject {
  return compact({ ...rule })
}

function patchExtensions(schema: Schema): JsonObject {
  return {
    'x-kubernetes-list-type': schema.listType,
    'x-kubernetes-list-map-keys': schema.listMapKeys,
    'x-kubernetes-patch-merge-key': schema.patchMergeKey,
    'x-kubernetes-patch-strategy': schema.patchStrategy?.join(','),
  }
}

/** Returns the schema without the keywords that describe the field rather than its type. */
function withoutPlace(schema: Schema): Schema {
  const { description: _, listType: _a, listMapKeys: _b, patchMergeKey: _c, patchStrategy: _d, ...type } = schema
  return type
}

function compact(entries: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(entries).filter(([name, value]) => !isEmpty(value) || (name === 'default' && value !== undefined)),
  )
}

function isEmpty(value: Json | undefined): boolean {
  if (value === undefined || value === false || value === '') return true
  if (Array.isArray(value)) return value.length === 0
  return false
}
