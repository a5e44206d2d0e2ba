import { isReserved } from '../escape-name.ts'
import type { FunctionDeclaration, Overload } from '../library/declarations.ts'
import {
  type CallExpr,
  type Expr,
  type FoldExpr,
  type ListExpr,
  type MapExpr,
  qualifiedName,
  type SelectExpr,
} from '../syntax/expr.ts'
import type { Problem } from '../syntax/source.ts'
import {
  CelType,
  isOptional,
  listType,
  mapType,
  optionalType,
  typeOfType,
  types,
  unwrapOptional,
} from '../values/types.ts'
import type { Literal } from '../values/values.ts'
import { Uint } from '../values/values.ts'
import { isLessSpecific, Substitutions } from './assign.ts'

/** A call whose function is known. `target` is undefined where the function is not a member. */
export interface ResolvedCall {
  readonly name: string
  readonly target: Expr | undefined
  readonly args: readonly Expr[]
  readonly overloads: readonly Overload[]
  readonly declaration: FunctionDeclaration | undefined
}

/** An expression with the types of its parts. */
export interface CheckedExpr {
  readonly root: Expr
  typeOf(expr: Expr): CelType
  callOf(expr: CallExpr): ResolvedCall
  /** Returns the type that a name denotes: `int`. */
  constantOf(expr: Expr): CelType | undefined
  /** The names of all variables in the expression, including those that macros declare. */
  readonly variables: ReadonlySet<string>
}

export type Checked = { readonly checked: CheckedExpr } | { readonly problems: readonly Problem[] }

const list = listType(new CelType('param', 'A'))
const map = mapType(new CelType('param', 'A'), new CelType('param', 'B'))
/** Types that expressions can name. */
const namedTypes: ReadonlyMap<string, CelType> = new Map(
  [...Object.values(types).filter(({ kind }) => kind !== 'dyn' && kind !== 'error'), list, map].map((type) => [
    type.name,
    type,
  ]),
)

/** Checks the types of an expression as cel-go does: reports all errors, each at the position that cel-go names. */
export function checkTypes(
  root: Expr,
  variables: ReadonlyMap<string, CelType>,
  functions: ReadonlyMap<string, FunctionDeclaration>,
): Checked {
  return new Checker(variables, functions).run(root)
}

/**
 * The limit on checks. Macros can repeat an operand, and types double with each repetition, so a short text can need
 * exponential work.
 */
const maxChecks = 20_000
const maxTypeSize = 1_000

class TooLarge extends Error {
  readonly problem: Problem

  constructor({ offset }: Expr, text: string) {
    super(text)
    this.problem = { offset, text }
  }
}

class Checker {
  readonly #functions: ReadonlyMap<string, FunctionDeclaration>
  readonly #variables: ReadonlyMap<string, CelType>
  readonly #scopes: (readonly [name: string, type: CelType])[] = []
  readonly #substitutions = new Substitutions()
  readonly #types = new Map<Expr, CelType>()
  readonly #calls = new Map<Expr, ResolvedCall>()
  readonly #constants = new Map<Expr, CelType>()
  readonly #used = new Set<string>()
  readonly #problems: Problem[] = []
  #freeCount = 0
  #checkCount = 0

  constructor(variables: ReadonlyMap<string, CelType>, functions: ReadonlyMap<string, FunctionDeclaration>) {
    this.#variables = variables
    this.#functions = functions
  }

  run(root: Expr): Checked {
    try {
      this.#check(root)
    } catch (thrown) {
      if (!(thrown instanceof TooLarge)) throw thrown
      return { problems: [thrown.problem] }
    }
    if (this.#problems.length > 0) return { problems: this.#problems }
    for (const [expr, type] of this.#types) this.#types.set(expr, this.#substitutions.apply(type, true))
    const known = <T>(found: T | undefined): T => {
      if (found === undefined) throw new Error('this part of the expression was not checked')
      return found
    }
    const checked: CheckedExpr = {
      root,
      typeOf: (expr) => known(this.#types.get(expr)),
      callOf: (expr) => known(this.#calls.get(expr)),
      constantOf: (expr) => this.#constants.get(expr),
      variables: this.#used,
    }
    return { checked }
  }

  #check(expr: Expr): CelType {
    if (++this.#checkCount > maxChecks) throw new TooLarge(expr, 'the expression is too large')
    const type = this.#typeOf(expr)
    if (type.size > maxTypeSize) throw new TooLarge(expr, 'the type of the expression is too large')
    this.#types.set(expr, type)
    return type
  }

  #typeOf(expr: Expr): CelType {
    switch (expr.kind) {
      case 'literal':
        return literalType(expr.value)
      case 'ident':
        return this.#named(expr, expr.name) ?? this.#undeclared(expr, expr.name)
      case 'select':
        return this.#select(expr)
      case 'call':
        return this.#call(expr)
      case 'list':
        return this.#list(expr)
      case 'map':
        return this.#map(expr)
      case 'fold':
        return this.#fold(expr)
      case 'struct':
        return this.#undeclared(expr, expr.name)
    }
  }

  #report({ offset }: Expr, text: string): CelType {
    this.#problems.push({ offset, text })
    return types.error
  }

  #undeclared(expr: Expr, name: string): CelType {
    return this.#report(expr, `undeclared reference to '${name}' (in container '')`)
  }

  #mismatch(expr: Expr, expected: CelType, found: CelType): CelType {
    return this.#report(expr, `expected type '${expected}' but found '${found}'`)
  }

  /** Returns the type of a variable, or of a name that denotes a type. */
  #named(expr: Expr, name: string): CelType | undefined {
    const variable = this.#scopes.findLast(([each]) => each === name)?.[1] ?? this.#variables.get(name)
    if (variable !== undefined) {
      this.#used.add(name)
      return variable
    }
    const type = namedTypes.get(name)
    if (type === undefined) return undefined
    this.#constants.set(expr, type)
    return typeOfType(type)
  }

  #select(expr: SelectExpr): CelType {
    const name = qualifiedName(expr)
    const named = name === undefined ? undefined : this.#named(expr, name)
    if (named !== undefined) return named
    const type = this.#field(expr, expr.operand, expr.field, false)
    return expr.isTest ? types.bool : this.#substitutions.apply(type)
  }

  #field(expr: Expr, operand: Expr, field: string, isAsked: boolean): CelType {
    const operandType = this.#substitutions.apply(this.#check(operand))
    const target = unwrapOptional(operandType)
    const type = this.#fieldType(expr, target, field)
    return isAsked || isOptional(operandType) ? optionalType(type) : type
  }

  #fieldType(expr: Expr, target: CelType, field: string): CelType {
    switch (target.kind) {
      case 'map':
        return target.parameters[1] ?? types.dyn
      case 'struct':
        return this.#structField(expr, target, field)
      case 'param':
        this.#substitutions.assign([types.dyn], [target])
        return types.dyn
      case 'dyn':
      case 'error':
        return types.dyn
      default:
        this.#report(expr, `type '${target}' does not support field selection`)
        return types.dyn
    }
  }

  #structField(expr: Expr, { name, fields }: CelType, field: string): CelType {
    if (fields === undefined) return this.#report(expr, `unexpected failed resolution of '${name}'`)
    const type = fields.get(field) ?? (isReserved(field) ? fields.get(`__${field}__`) : undefined)
    return type ?? this.#report(expr, `undefined field '${field}'`)
  }

  #call(expr: CallExpr): CelType {
    if (expr.name === '_?._') return this.#optionalSelect(expr)
    for (const arg of expr.args) this.#check(arg)
    if (expr.target === undefined) return this.#resolve(expr, expr.name, undefined)
    const prefix = qualifiedName(expr.target)
    const qualified = `${prefix}.${expr.name}`
    if (prefix !== undefined && this.#functions.has(qualified)) return this.#resolve(expr, qualified, undefined)
    this.#check(expr.target)
    return this.#resolve(expr, expr.name, expr.target)
  }

  #optionalSelect(expr: CallExpr): CelType {
    const [operand, field] = expr.args as readonly [Expr, Expr]
    const name = field.kind === 'literal' && typeof field.value === 'string' ? field.value : ''
    this.#types.set(field, types.string)
    const type = this.#field(expr, operand, name, true)
    this.#calls.set(expr, { ...expr, overloads: [], declaration: undefined })
    return this.#substitutions.apply(type)
  }

  #resolve(expr: CallExpr, name: string, target: Expr | undefined): CelType {
    const declaration = this.#functions.get(name)
    if (declaration === undefined) return this.#undeclared(expr, name)
    const operands = target === undefined ? expr.args : [target, ...expr.args]
    const given = operands.map((each) => this.#types.get(each) ?? types.error)
    if (name === '_&&_' || name === '_||_') return this.#logical(expr, declaration, given)
    const matching: Overload[] = []
    let result: CelType | undefined
    for (const overload of declaration.overloads) {
      if (overload.isMember !== (target !== undefined)) continue
      const found = this.#match(overload, given)
      if (found === undefined) continue
      matching.push(overload)
      result = result === undefined ? found : unify(result, found)
    }
    this.#calls.set(expr, { name, target, args: expr.args, overloads: matching, declaration })
    return result ?? this.#noOverload(expr, name, given, target !== undefined)
  }

  #noOverload(expr: Expr, name: string, given: readonly CelType[], isMember: boolean): CelType {
    const shown = given.map((type) => String(this.#substitutions.apply(type, true)))
    const signature = isMember ? `${shown[0]}.(${shown.slice(1).join(', ')})` : `(${shown.join(', ')})`
    return this.#report(expr, `found no matching overload for '${name}' applied to '${signature}'`)
  }

  #logical(expr: CallExpr, declaration: FunctionDeclaration, given: readonly CelType[]): CelType {
    let isWrong = false
    for (const [index, type] of given.entries()) {
      if (this.#substitutions.assign([type], [types.bool])) continue
      this.#mismatch(expr.args[index] as Expr, types.bool, type)
      isWrong = true
    }
    const { name, overloads } = declaration
    this.#calls.set(expr, { name, target: undefined, args: expr.args, overloads, declaration })
    return isWrong ? types.error : types.bool
  }

  /** Returns the type of the result where the operands fit the overload. */
  #match({ params, result, typeParams }: Overload, given: readonly CelType[]): CelType | undefined {
    if (typeParams.length === 0) return this.#substitutions.assign(given, params) ? result : undefined
    const fresh = new Substitutions()
    for (const name of typeParams) fresh.bind(new CelType('param', name), this.#free())
    const wanted = params.map((type) => fresh.apply(type))
    return this.#substitutions.assign(given, wanted) ? this.#substitutions.apply(fresh.apply(result)) : undefined
  }

  #free(): CelType {
    return new CelType('param', `_var${this.#freeCount++}`)
  }

  #list(expr: ListExpr): CelType {
    let joined: CelType | undefined
    for (const { value, isOptional: isAsked } of expr.items) {
      joined = this.#join(joined, this.#item(value, isAsked))
    }
    return listType(joined ?? this.#free())
  }

  #map(expr: MapExpr): CelType {
    let keys: CelType | undefined
    let values: CelType | undefined
    for (const { key, value, isOptional: isAsked } of expr.entries) {
      keys = this.#join(keys, this.#check(key))
      values = this.#join(values, this.#item(value, isAsked))
    }
    return mapType(keys ?? this.#free(), values ?? this.#free())
  }

  #item(expr: Expr, isAsked: boolean): CelType {
    const type = this.#check(expr)
    if (!isAsked) return type
    if (!isOptional(type) && type.kind !== 'dyn') this.#mismatch(expr, optionalType(type), type)
    return unwrapOptional(type)
  }

  /** Returns the common type of items: dyn where they differ. */
  #join(previous: CelType | undefined, current: CelType): CelType {
    if (previous === undefined) return current
    if (!this.#substitutions.assign([previous], [current])) return types.dyn
    return isLessSpecific(previous, current) ? previous : current
  }

  #fold(expr: FoldExpr): CelType {
    const depth = this.#scopes.length
    this.#check(expr.range)
    const accuType = this.#check(expr.init)
    const range = this.#substitutions.apply(this.#types.get(expr.range) ?? types.dyn)
    this.#scopes.push([expr.accuVar, accuType])
    const [first, second] = this.#iterated(expr, range)
    if (expr.iterVar2 === undefined) this.#scopes.push([expr.iterVar, range.kind === 'list' ? second : first])
    else this.#scopes.push([expr.iterVar, first], [expr.iterVar2, second])
    this.#assert(expr.condition, types.bool)
    this.#assert(expr.step, accuType)
    this.#scopes.length = depth + 1
    const result = this.#check(expr.result)
    this.#scopes.length = depth
    return this.#substitutions.apply(result)
  }

  #assert(expr: Expr, expected: CelType): void {
    const type = this.#check(expr)
    if (!this.#substitutions.assign([expected], [type])) this.#mismatch(expr, expected, type)
  }

  /** Returns the types of keys and values; the key of a list is its index. */
  #iterated({ range }: FoldExpr, type: CelType): readonly [key: CelType, value: CelType] {
    const [first = types.dyn, second = types.dyn] = type.parameters
    switch (type.kind) {
      case 'list':
        return [types.int, first]
      case 'map':
        return [first, second]
      case 'dyn':
      case 'error':
      case 'param':
        this.#substitutions.assign([types.dyn], [type])
        return [types.dyn, types.dyn]
      default:
        this.#report(
          range,
          `expression of type '${type}' cannot be range of a comprehension (must be list, map, or dynamic)`,
        )
        return [types.error, types.error]
    }
  }
}

function unify(left: CelType, right: CelType): CelType {
  return left.kind === 'dyn' || left.equals(right) ? left : types.dyn
}

function literalType(value: Literal): CelType {
  switch (typeof value) {
    case 'boolean':
      return types.bool
    case 'bigint':
      return types.int
    case 'number':
      return types.double
    case 'string':
      return types.string
    default:
      if (value === null) return types.null
      return value instanceof Uint ? types.uint : types.bytes
  }
}
