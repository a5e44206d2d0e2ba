import { CelType, listType, mapType, typeOfType, types } from '../values/types.ts'

/** The bindings of type parameters, by name. A failed attempt is undone. */
export class Substitutions {
  readonly #bound = new Map<string, CelType>()
  /** The values that bindings replaced, the latest last. */
  readonly #trail: (readonly [name: string, before: CelType | undefined])[] = []

  #find(type: CelType): CelType | undefined {
    return type.kind === 'param' ? this.#bound.get(type.name) : undefined
  }

  bind({ name }: CelType, type: CelType): void {
    this.#trail.push([name, this.#bound.get(name)])
    this.#bound.set(name, type)
  }

  /** Returns a type with its parameters replaced by their bindings; free ones stay, or become dyn. */
  apply(type: CelType, isFinal = false): CelType {
    const bound = this.#find(type)
    if (bound !== undefined) return this.apply(bound, isFinal)
    if (type.kind === 'param') return isFinal ? types.dyn : type
    if (type.parameters.length === 0) return type
    const [first, second] = type.parameters.map((each) => this.apply(each, isFinal))
    if (first === undefined) return type
    switch (type.kind) {
      case 'list':
        return listType(first)
      case 'map':
        return mapType(first, second ?? types.dyn)
      case 'type':
        return typeOfType(first)
      default:
        return new CelType(type.kind, type.name, [first])
    }
  }

  /** Checks whether each type is assignable to its counterpart in the other list; only then the new bindings stay. */
  assign(given: readonly CelType[], wanted: readonly CelType[]): boolean {
    const start = this.#trail.length
    if (this.#areAssignable(given, wanted)) return true
    for (const [name, before] of this.#trail.splice(start).reverse()) {
      if (before === undefined) this.#bound.delete(name)
      else this.#bound.set(name, before)
    }
    return false
  }

  #areAssignable(given: readonly CelType[], wanted: readonly CelType[]): boolean {
    return (
      given.length === wanted.length && given.every((each, index) => this.#isAssignable(each, wanted[index] as CelType))
    )
  }

  #isAssignable(given: CelType, wanted: CelType): boolean {
    if (wanted.kind === 'param') {
      const { isValid, isBound } = this.#canStandFor(given, wanted)
      if (isValid || isBound) return isValid
    }
    if (given.kind === 'param') return this.#canStandFor(wanted, given).isValid
    if (isAny(given) || isAny(wanted)) return true
    if (given.kind === 'null') return isNullable(wanted)
    if (wanted.kind === 'null') return isNullable(given)
    return this.#areAlike(given, wanted)
  }

  #areAlike(given: CelType, wanted: CelType): boolean {
    switch (given.kind) {
      case 'type':
        return wanted.kind === 'type'
      case 'opaque':
      case 'list':
      case 'map':
        return (
          given.kind === wanted.kind &&
          given.name === wanted.name &&
          this.#areAssignable(given.parameters, wanted.parameters)
        )
      default:
        return given.equals(wanted)
    }
  }

  /** Checks whether a parameter can be bound to a type, and whether it was bound to one before. */
  #canStandFor(type: CelType, parameter: CelType): { readonly isValid: boolean; readonly isBound: boolean } {
    if (type.equals(parameter)) return { isValid: true, isBound: true }
    const bound = this.#find(parameter)
    if (bound === undefined) {
      const isFree = this.#isAbsentFrom(parameter, type)
      if (isFree) this.bind(parameter, type)
      return { isValid: isFree, isBound: false }
    }
    if (type.equals(bound)) return { isValid: true, isBound: true }
    if (!this.#isAssignable(type, bound)) return { isValid: false, isBound: true }
    const general = isLessSpecific(type, bound) ? type : bound
    if (this.#isAbsentFrom(parameter, general)) this.bind(parameter, general)
    return { isValid: true, isBound: true }
  }

  /** Checks that a type does not contain a parameter: a parameter cannot be bound to a type that contains it. */
  #isAbsentFrom(parameter: CelType, type: CelType): boolean {
    if (type.equals(parameter)) return false
    const bound = this.#find(type)
    if (bound !== undefined) return this.#isAbsentFrom(parameter, bound)
    return type.parameters.every((each) => this.#isAbsentFrom(parameter, each))
  }
}

function isAny({ kind }: CelType): boolean {
  return kind === 'dyn' || kind === 'error'
}

function isNullable({ kind }: CelType): boolean {
  return kind === 'opaque' || kind === 'struct' || kind === 'duration' || kind === 'timestamp' || kind === 'null'
}

/** Checks whether the first type is equal to the second one or more general. */
export function isLessSpecific(left: CelType, right: CelType): boolean {
  if (left.kind === 'dyn' || left.kind === 'param') return true
  if (right.kind === 'dyn' || right.kind === 'param' || left.kind !== right.kind) return false
  if (left.kind === 'type') return true
  if (left.kind !== 'opaque' && left.kind !== 'list' && left.kind !== 'map') return left.equals(right)
  return (
    left.name === right.name &&
    left.parameters.length === right.parameters.length &&
    left.parameters.every((each, index) => isLessSpecific(each, right.parameters[index] as CelType))
  )
}
