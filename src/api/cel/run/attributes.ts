import { doubleToText, runtimeType } from '../library/conversions.ts'
import { isNumber } from '../values/equality.ts'
import { untyped } from '../values/untyped.ts'
import { CelError, ListValue, MapValue, none, OptionalValue, Uint, type Value } from '../values/values.ts'
import type { Frame, Step } from './frame.ts'

/** A step from a value to a part of it. */
export interface Qualifier {
  readonly isOptional: boolean
  /** Whether this is the step of `has(a.b)`, which only checks for presence. */
  readonly isTest: boolean
  /** The name or index; it can be a CelError. */
  readonly key: Step
}

/** A value and the path to a part of it. Kubernetes counts one step for the path and one for each part. */
export interface Attribute {
  readonly base: Step
  readonly qualifiers: readonly Qualifier[]
  /** The cost of the path itself: of a choice only the parts cost. */
  readonly cost: 0 | 1
}

/** Returns a step that follows the path, without the cost of the path itself. */
export function resolution({ base, qualifiers }: Attribute): Step {
  if (qualifiers.length === 0) {
    return (frame) => {
      const value = base(frame)
      return value instanceof OptionalValue ? untypedOptional(value) : value
    }
  }
  return (frame) => follow(base(frame), qualifiers, frame)
}

/** Returns an optional whose content has lost its schema. */
function untypedOptional({ value }: OptionalValue): Value {
  return value === undefined ? none : new OptionalValue(untyped(value))
}

function follow(start: Value, qualifiers: readonly Qualifier[], frame: Frame): Value {
  if (start instanceof CelError) return start
  let isAsked = start instanceof OptionalValue
  let value: Value = start
  if (value instanceof OptionalValue) {
    if (value.value === undefined) return value
    value = untyped(value.value)
  }
  for (const qualifier of qualifiers) {
    isAsked ||= qualifier.isOptional
    const next = take(value, qualifier, isAsked, frame)
    if (next === undefined) return none
    if (next instanceof CelError) return next
    value = next
  }
  return isAsked ? new OptionalValue(value) : value
}

/** Returns a part of a value; undefined where it is absent without an error. A test for an absent part costs nothing. */
function take(value: Value, { key: keyOf, isTest }: Qualifier, isAsked: boolean, frame: Frame): Value | undefined {
  const key = keyOf(frame)
  const found = key instanceof CelError ? key : isKey(key) ? partOf(value, key) : noKey(key)
  if (isTest || !isAsked || (found !== undefined && !(found instanceof CelError))) frame.meter.spend(1)
  if (isTest && !isAsked) return found instanceof CelError ? found : found !== undefined
  if (found !== undefined || isAsked) return found
  return missing(value, key)
}

function isKey(value: Value): boolean {
  return isNumber(value) || typeof value === 'string' || typeof value === 'boolean'
}

/** Returns the error for a value that is no valid name or index, with Go's name of its type. */
function noKey(value: Value): CelError {
  const name = runtimeType(value)
    .name.replace(/^google\.protobuf\./, '')
    .replace(/_type$/, '')
  return new CelError(`invalid qualifier type: types.${name.charAt(0).toUpperCase()}${name.slice(1)}`)
}

function partOf(value: Value, key: Value): Value | undefined {
  if (value instanceof MapValue) return value.find(key)
  if (!(value instanceof ListValue)) return undefined
  const index = indexOf(key)
  if (index instanceof CelError) return index
  return index >= 0 && index < value.size ? value.at(index) : undefined
}

function indexOf(key: Value): number | CelError {
  if (typeof key === 'bigint') return Number(key)
  if (key instanceof Uint) return Number(key.value)
  if (typeof key !== 'number') return new CelError(`unsupported index type '${runtimeType(key).name}' in list`)
  return Number.isInteger(key) ? key : new CelError(`unsupported index value ${doubleToText(key)} in list`)
}

function missing(value: Value, key: Value): CelError {
  const shown = typeof key === 'number' ? doubleToText(key) : key instanceof Uint ? String(key.value) : String(key)
  return new CelError(value instanceof ListValue ? `index out of bounds: ${shown}` : `no such key: ${shown}`)
}
