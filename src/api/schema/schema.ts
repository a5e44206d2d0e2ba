import type { Json } from '../../model/api-object.ts'
import type { TextForm } from './text-forms.ts'
import type { ValidationRule } from './validation-rule.ts'

/**
 * The fields of a kind: an OpenAPI v3 structural schema (spec 2.2) with the extensions that lists and patches need. Built-in kinds and custom
 * resources share this type, so that decoding, validation, patches and documents handle one type only.
 */
export interface Schema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean'
  readonly format?: string
  /** The stored form of a built-in kind's text, where only one form is allowed. */
  readonly textForm?: TextForm
  /** The Kubernetes type that this schema is exactly, `core.v1.PodSpec`: documents contain it once. */
  readonly typeName?: string
  readonly title?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  /** The schema of every property that `properties` does not name. */
  readonly additionalProperties?: Schema
  readonly items?: Schema
  readonly required?: readonly string[]
  /** The value of an absent property, or of a null one that is not nullable. */
  readonly default?: Json
  /** Null is a value, instead of an absent field. */
  readonly nullable?: boolean
  readonly enum?: readonly Json[]
  /** A pattern in RE2 syntax, not anchored. */
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: boolean | number
  readonly exclusiveMaximum?: boolean | number
  readonly multipleOf?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly allOf?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly not?: Schema
  readonly intOrString?: boolean
  /** The CEL rules that every value must satisfy. */
  readonly validations?: readonly ValidationRule[]
  /** Undeclared fields stay, instead of being pruned. */
  readonly preserveUnknownFields?: boolean
  /** The value is a whole API object: apiVersion, kind and metadata are kept and checked. */
  readonly embeddedResource?: boolean
  /** How server-side apply merges a list; absent means `atomic`. */
  readonly listType?: 'atomic' | 'set' | 'map'
  readonly listMapKeys?: readonly string[]
  readonly mapType?: 'granular' | 'atomic'
  /** The key that identifies list items in a strategic merge patch of a built-in kind. */
  readonly patchMergeKey?: string
  readonly patchStrategy?: readonly ('merge' | 'replace' | 'retainKeys')[]
}

/** The schema of any property: `additionalProperties: true`. */
export const anyProperty: Schema = {}
/** The schema of no property: `additionalProperties: false`. */
export const noProperty: Schema = { not: {} }
export const text: Schema = { type: 'string' }
/** Any object; all its fields are preserved. */
export const openObject: Schema = { type: 'object', preserveUnknownFields: true }

export function object(properties: Readonly<Record<string, Schema>>): Schema {
  return { type: 'object', properties }
}

export function listOf(items: Schema): Schema {
  return { type: 'array', items }
}

export function mapOf(additionalProperties: Schema): Schema {
  return { type: 'object', additionalProperties }
}
