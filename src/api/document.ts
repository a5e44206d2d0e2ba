import { isObject, type Json, type JsonObject } from '../model/api-object.ts'
import { isExactNumber, isInteger, numberOf, setField } from './exact-json.ts'

/** The metadata of a document once its types have been checked. */
export interface Metadata {
  readonly name?: string
  readonly generateName?: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly deletionGracePeriodSeconds?: number
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: readonly string[]
  readonly [field: string]: Json | undefined
}

/** An API object inside the server: its types are checked, and it is immutable; a change makes another one. */
export interface ApiDocument {
  readonly kind: string
  readonly apiVersion: string
  readonly metadata: Metadata
  readonly [field: string]: Json | undefined
}

/** An exact number is no object, although it stands in one. */
export function isJsonObject(value: Json | undefined): value is JsonObject {
  return isObject(value) && !isExactNumber(value)
}

export function isDeeperThan(value: Json, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  return Object.values(value).some((each) => isDeeperThan(each ?? null, levels - 1))
}

export function jsonTypeName(value: Json): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (numberOf(value) === undefined) return typeof value
  return isInteger(value) ? 'integer' : 'number'
}

/** Returns the object at a path of field names, `{}` where there is none. */
export function objectAt(value: Json | undefined, ...path: readonly string[]): JsonObject {
  const found = valueAt(value, ...path)
  return isJsonObject(found) ? found : {}
}

export function listAt(value: Json | undefined, ...path: readonly string[]): readonly Json[] {
  const found = valueAt(value, ...path)
  return Array.isArray(found) ? found : []
}

/** Returns the text at a path, `""` where there is none; numbers and booleans as JSON writes them. */
export function textAt(value: Json | undefined, ...path: readonly string[]): string {
  const found = valueAt(value, ...path)
  return found === undefined || found === null || typeof found === 'object' ? '' : String(found)
}

export function valueAt(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  let current = value
  for (const field of path) {
    if (!isJsonObject(current) || !Object.hasOwn(current, field)) return undefined
    current = current[field]
  }
  return current
}

export function withMetadata(document: ApiDocument, changes: Metadata): ApiDocument {
  return { ...document, metadata: { ...document.metadata, ...changes } }
}

export function without<T extends JsonObject>(value: T, ...fields: readonly string[]): T {
  if (!fields.some((field) => Object.hasOwn(value, field))) return value
  const kept: Record<string, Json | undefined> = {}
  for (const key of Object.keys(value)) if (!fields.includes(key)) setField(kept, key, value[key])
  return kept as T
}
