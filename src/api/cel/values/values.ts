import type { CelType } from './types.ts'

/** A literal of CEL. Integers are bigints, doubles are numbers. */
export type Literal = null | boolean | bigint | Uint | number | string | Uint8Array

export type Value =
  | Literal
  | Timestamp
  | Duration
  | OptionalValue
  | ListValue
  | MapValue
  | CelType
  | OpaqueValue
  | CelError

/** An error of an evaluation, in the wording of Kubernetes. It is a value, because logical operators can ignore it. */
export class CelError {
  readonly message: string

  constructor(message: string) {
    this.message = message
  }
}

export const noSuchOverload = new CelError('no such overload')

export class Uint {
  readonly value: bigint

  constructor(value: bigint) {
    this.value = value
  }
}

/** A duration in nanoseconds. */
export class Duration {
  readonly nanos: bigint

  constructor(nanos: bigint) {
    this.nanos = nanos
  }
}

/** A time in nanoseconds since 1970 in UTC, and the UTC offset of its text. */
export class Timestamp {
  readonly nanos: bigint
  readonly offsetMinutes: number

  constructor(nanos: bigint, offsetMinutes = 0) {
    this.nanos = nanos
    this.offsetMinutes = offsetMinutes
  }
}

export class OptionalValue {
  readonly value: Value | undefined

  constructor(value: Value | undefined) {
    this.value = value
  }
}

export const none = new OptionalValue(undefined)

/** A value of one of Kubernetes' own types. */
export abstract class OpaqueValue {
  abstract readonly type: CelType
  abstract equals(other: OpaqueValue): boolean
}

export abstract class ListValue {
  abstract readonly size: number
  abstract at(index: number): Value
  /** Returns the list `this + other`. */
  abstract concat(other: ListValue): ListValue

  *[Symbol.iterator](): Generator<Value, undefined> {
    for (let index = 0; index < this.size; index++) yield this.at(index)
  }
}

export abstract class MapValue {
  abstract readonly size: number
  /** Returns the value of a key; undefined where there is none. */
  abstract find(key: Value): Value | undefined
  abstract keys(): Iterable<Value>
}

const highSurrogate = /[\ud800-\udbff]/

/** Returns the number of characters (code points) of a text. */
export function textLength(text: string): number {
  if (!highSurrogate.test(text)) return text.length
  let length = 0
  for (const _ of text) length++
  return length
}
