import type { Json } from '../../model/api-object.ts'
import type { TextForm } from './text-forms.ts'
import type { ValidationRule } from './validation-rule.ts'

/**
 * What a kind's fields are: an OpenAPI v3 structural schema (spec 2.2) with the extensions that lists and patches need. Built-in
 * kinds and custom resources share this type, so that decoding, validation, patches and documents know only one.
 */
export interface Schema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean'
  readonly format?: string
  /** Of a built-in kind's text that is not stored in any other form. */
  readonly textForm?: TextForm
  /** The type of Kubernetes this is exactly, `core.v1.PodSpec`: documents give it once. */
  readonly typeName?: string
  readonly title?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  /** The schema of every property that `properties` does not name. */
  readonly additionalProperties?: Schema
  readonly items?: Schema
  readonly required?: readonly string[]
  /** Taken where the property is absent, or null and not nullable. */
  readonly default?: Json
  /** A null stays, instead of counting as absent. */
  readonly nullable?: boolean
  readonly enum?: readonly Json[]
  /** RE2 syntax, not anchored. */
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
  /** Rules that every value must keep. */
  readonly validations?: readonly ValidationRule[]
  /** Undeclared fields stay, instead of being pruned. */
  readonly preserveUnknownFields?: boolean
  /** A whole API object stands here: apiVersion, kind and metadata are kept and checked. */
  readonly embeddedResource?: boolean
  /** How server-side apply merges a list; absent means `atomic`. */
  readonly listType?: 'atomic' | 'set' | 'map'
  readonly listMapKeys?: readonly string[]
  readonly mapType?: 'granular' | 'atomic'
  /** Strategic merge patch of built-in kinds: the key by which list items are the same, and what happens to the field. */
  readonly patchMergeKey?: string
  readonly patchStrategy?: readonly ('merge' | 'replace' | 'retainKeys')[]
}

/** `additionalProperties: true` */
export const anyProperty: Schema = {}
/** `additionalProperties: false` */
export const noProperty: Schema = { not: {} }
export const text: Schema = { type: 'string' }
/** Any object, kept as it came. */
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
