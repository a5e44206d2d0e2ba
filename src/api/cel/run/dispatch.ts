import type { ResolvedCall } from '../check/checker.ts'
import { runtimeType } from '../library/conversions.ts'
import type { Overload } from '../library/declarations.ts'
import type { WorkMeter } from '../values/cost-meter.ts'
import type { CelType } from '../values/types.ts'
import { CelError, ListValue, MapValue, noSuchOverload, OptionalValue, type Value } from '../values/values.ts'

/** The implementation of a call. */
export type Work = (operands: readonly Value[], meter: WorkMeter) => Value

/** Returns the overload that fits the operands. The types of dynamic values and nulls are known only at run time. */
export function dispatch({ name, overloads, declaration }: ResolvedCall): Work {
  const shared = declaration?.shared
  if (shared !== undefined) return (operands, meter) => shared(...operands, meter)
  return (operands, meter) => {
    const fitting = overloads.find((overload) => fits(overload, operands))
    return fitting === undefined ? misfit(name, operands) : fitting.run(...operands, meter)
  }
}

/** The functions whose errors in Kubernetes do not name the types of the operands. */
const silent = new Set(['matches', 'contains', 'startsWith', 'endsWith', 'find', 'findAll'])

function misfit(name: string, operands: readonly Value[]): CelError {
  if (silent.has(name)) return noSuchOverload
  return new CelError(`no such overload: ${name}(${operands.map((each) => runtimeType(each).name).join(', ')})`)
}

function fits({ params }: Overload, operands: readonly Value[]): boolean {
  return params.every((type, index) => isOf(type, operands[index] ?? null))
}

/** Checks whether a value is of a type; for lists and maps the first item decides. */
function isOf(type: CelType, value: Value): boolean {
  const [first, second] = type.parameters
  switch (type.kind) {
    case 'dyn':
    case 'param':
      return !(value instanceof CelError)
    case 'list':
      return value instanceof ListValue && (value.size === 0 || first === undefined || isOf(first, value.at(0)))
    case 'map':
      return value instanceof MapValue && isMapOf(value, first, second)
    case 'opaque':
      return first === undefined ? runtimeType(value).name === type.name : isOptionalOf(value, first)
    default:
      return runtimeType(value).name === type.name
  }
}

function isMapOf(map: MapValue, key: CelType | undefined, value: CelType | undefined): boolean {
  const [first] = map.keys()
  if (first === undefined || key === undefined || value === undefined) return true
  return isOf(key, first) && isOf(value, map.find(first) ?? null)
}

function isOptionalOf(optional: Value, type: CelType): boolean {
  return optional instanceof OptionalValue && (optional.value === undefined || isOf(type, optional.value))
}
