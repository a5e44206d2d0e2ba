import type { Json } from '../../model/api-object.ts'

/**
 * What a kind's fields are: the part of an OpenAPI v3 structural schema that decoding needs. Later keywords (patterns, list
 * types) are further members; built-in kinds and custom resources share this type.
 */
export interface Schema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean'
  readonly properties?: Readonly<Record<string, Schema>>
  /** The schema of every property that `properties` does not name. */
  readonly additionalProperties?: Schema
  readonly items?: Schema
  /** Taken where the property is absent, or null and not nullable. */
  readonly default?: Json
  /** A null stays, instead of counting as absent. */
  readonly nullable?: boolean
  readonly intOrString?: boolean
  /** Undeclared fields stay, instead of being pruned. */
  readonly preserveUnknownFields?: boolean
}

export const text: Schema = { type: 'string' }
export const integer: Schema = { type: 'integer' }
export const flag: Schema = { type: 'boolean' }
export const intOrString: Schema = { intOrString: true }
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

export function withDefault(schema: Schema, value: Json): Schema {
  return { ...schema, default: value }
}

export const objectReference: Schema = object({
  kind: text,
  namespace: text,
  name: text,
  uid: text,
  apiVersion: text,
  resourceVersion: text,
  fieldPath: text,
})

const metadata: Schema = object({
  name: text,
  generateName: text,
  namespace: text,
  uid: text,
  resourceVersion: text,
  generation: integer,
  creationTimestamp: text,
  deletionTimestamp: text,
  deletionGracePeriodSeconds: integer,
  labels: mapOf(text),
  annotations: mapOf(text),
  finalizers: listOf(text),
  ownerReferences: listOf(
    object({ apiVersion: text, kind: text, name: text, uid: text, controller: flag, blockOwnerDeletion: flag }),
  ),
  managedFields: listOf(openObject),
})

/** A whole object: `fields` beside apiVersion, kind and metadata. */
export function documentSchema(fields: Readonly<Record<string, Schema>>): Schema {
  return object({ kind: text, apiVersion: text, metadata: withDefault(metadata, {}), ...fields })
}
