/** Any JSON value, as it stands in a request or in the store. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [key: string]: Json | undefined
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Formats a time as RFC 3339 in UTC with whole seconds, as every timestamp of the API.
 *
 * @param time a number is milliseconds since 1970
 */
export function formatTime(time: Date | number): string {
  const date = typeof time === 'number' ? new Date(time) : time
  return `${date.toISOString().slice(0, 19)}Z`
}

/** Formats a time as RFC 3339 in UTC with microseconds, as `MicroTime` of the API (Leases, Events). */
export function formatMicroTime(time: Date): string {
  return time.toISOString().replace('Z', '000Z')
}

/** The metadata every API object carries, as it stands on the wire. */
interface ObjectMeta {
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

/** An API object on the wire, its kind-specific part not parsed yet. */
export interface ApiObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
  readonly [field: string]: unknown
}

/** `namespace/name`, the key of a namespaced object in tables and logs. */
export type ObjectKey = string

export function objectKey(namespace: string, name: string): ObjectKey {
  return `${namespace}/${name}`
}

/** Splits what `objectKey` joined. */
export function splitObjectKey(key: ObjectKey): { readonly namespace: string; readonly name: string } {
  const [namespace = '', name = ''] = key.split('/')
  return { namespace, name }
}
