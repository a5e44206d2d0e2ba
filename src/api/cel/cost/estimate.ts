import type { CheckedExpr, ResolvedCall } from '../check/checker.ts'
import type { Overload } from '../library/declarations.ts'
import type { SchemaType } from '../schema-types.ts'
import type { CallExpr, Expr, FoldExpr, IdentExpr, ListExpr, MapExpr, SelectExpr } from '../syntax/expr.ts'
import { type CelType, isOptional } from '../values/types.ts'
import { textLength } from '../values/values.ts'
import { type CallEstimate, estimateCall, type Operand } from './call-estimates.ts'
import { Path } from './path.ts'
import { add, exactly, multiply, one, type Range, union, unknown, zero } from './range.ts'

/** The sizes of the keys and values of a list or map. */
interface EntrySize {
  readonly isList: boolean
  readonly key: Range
  readonly value: Range
}

interface Local {
  readonly name: string
  readonly path: Path | undefined
  readonly size: Range | undefined
  readonly entries: EntrySize | undefined
}

const listCost = exactly(10)
const mapCost = exactly(30)

/** Returns the highest cost of an expression, by the sizes in its schema: Kubernetes accepts or refuses a rule by this estimate. */
export function estimateCost(checked: CheckedExpr, self: SchemaType): number {
  return new Estimator(checked, self).cost(checked.root).max
}

class Estimator {
  readonly #checked: CheckedExpr
  readonly #self: SchemaType
  readonly #paths = new Map<Expr, Path | undefined>()
  readonly #sizes = new Map<Expr, Range>()
  readonly #entries = new Map<Expr, EntrySize>()
  readonly #locals: Local[] = []

  constructor(checked: CheckedExpr, self: SchemaType) {
    this.#checked = checked
    this.#self = self
  }

  cost(expr: Expr): Range {
    switch (expr.kind) {
      case 'ident':
        return this.#ident(expr)
      case 'select':
        return this.#select(expr)
      case 'call':
        return this.#call(expr)
      case 'list':
        return this.#list(expr)
      case 'map':
        return this.#map(expr)
      case 'fold':
        return isBinding(expr) ? this.#binding(expr) : this.#fold(expr)
      default:
        return zero
    }
  }

  #local(name: string): Local | undefined {
    return this.#locals.findLast((local) => local.name === name)
  }

  #ident(expr: IdentExpr): Range {
    const local = this.#local(expr.name)
    this.#paths.set(expr, local === undefined ? Path.of(expr.name) : local.path)
    return one
  }

  #pathOf(expr: Expr): Path | undefined {
    const local = expr.kind === 'ident' ? this.#local(expr.name) : undefined
    return local === undefined ? this.#paths.get(expr) : local.path
  }

  #select(expr: SelectExpr): Range {
    const operand = this.cost(expr.operand)
    if (expr.isTest) return operand
    const { kind } = this.#checked.typeOf(expr.operand)
    this.#paths.set(expr, Path.append(this.#pathOf(expr.operand), expr.field))
    return kind === 'map' || kind === 'struct' || kind === 'param' ? add(operand, one) : operand
  }

  #call(expr: CallExpr): Range {
    const call = this.#checked.callOf(expr)
    if (call.name === 'dyn') return this.#dyn(expr, call)
    const costs = call.args.map((arg) => [this.cost(arg), this.#operand(arg)] as const)
    const args = costs.map(([, operand]) => operand)
    const target =
      call.target === undefined ? undefined : ([this.cost(call.target), this.#operand(call.target)] as const)
    const forms: readonly (Overload | undefined)[] = call.declaration === undefined ? [undefined] : call.overloads
    let result: CallEstimate | undefined
    for (const form of forms) {
      const estimate = this.#form(expr, call, form, target?.[1], args, costs)
      result = { cost: union(result?.cost ?? estimate.cost, estimate.cost), size: unite(result?.size, estimate.size) }
      const size = this.#indexed(expr, form, call.args[0]) ?? result.size ?? this.#sizeOf(expr)
      result = { ...result, size }
    }
    if (result?.size !== undefined) this.#sizes.set(expr, result.size)
    return add(target?.[0] ?? zero, result?.cost ?? zero)
  }

  /** Estimates a call of one overload with its operands. */
  #form(
    expr: CallExpr,
    { name }: ResolvedCall,
    form: Overload | undefined,
    target: Operand | undefined,
    args: readonly Operand[],
    costs: readonly (readonly [Range, Operand])[],
  ): CallEstimate {
    const operands = costs.map(([cost]) => cost)
    const [first = zero, second = zero, third = zero] = operands
    if (name === '_&&_' || name === '_||_') return { cost: { min: first.min, max: add(first, second).max } }
    if (name === '_?_:_') {
      this.#unite(expr, args[1], args[2])
      const size = union(args[1]?.size ?? unknown, args[2]?.size ?? unknown)
      return { cost: add(first, union(second, third)), size }
    }
    if (name === '_+_') this.#unite(expr, args[0], args[1])
    const { cost, size } = estimateCall(name, form?.signature ?? '', target, args)
    return { cost: add(cost, ...operands), ...(size === undefined ? {} : { size }) }
  }

  /** Records the entries of the result of a choice or a sum. */
  #unite(expr: Expr, left: Operand | undefined, right: Operand | undefined): void {
    const [first, second] = [left, right].map((each) => each && this.#entriesOf(each.expr))
    if (first === undefined || second === undefined) return
    const { isList } = first
    this.#entries.set(expr, { isList, key: union(first.key, second.key), value: union(first.value, second.value) })
  }

  #indexed(expr: Expr, form: Overload | undefined, operand: Expr | undefined): Range | undefined {
    const step = form === undefined ? undefined : steps[form.signature]
    if (step === undefined || operand === undefined) return undefined
    this.#paths.set(expr, Path.append(this.#pathOf(operand), step))
    return this.#entriesOf(operand)?.value
  }

  #dyn(expr: Expr, { args }: ResolvedCall): Range {
    const [arg] = args as readonly [Expr]
    const cost = this.cost(arg)
    this.#copySizes(expr, arg)
    return add(one, cost)
  }

  #copySizes(expr: Expr, from: Expr): void {
    const size = this.#sizeOf(from)
    const entries = this.#entriesOf(from)
    if (size !== undefined) this.#sizes.set(expr, size)
    if (entries !== undefined) this.#entries.set(expr, entries)
  }

  #list(expr: ListExpr): Range {
    let cost = listCost
    let size: Range | undefined
    for (const { value } of expr.items) {
      cost = add(cost, this.cost(value))
      size = unite(size, this.#sizeOf(value) ?? unknown)
    }
    this.#entries.set(expr, { isList: true, key: one, value: size ?? zero })
    return cost
  }

  #map(expr: MapExpr): Range {
    let cost = mapCost
    let keys: Range | undefined
    let values: Range | undefined
    for (const { key, value } of expr.entries) {
      cost = add(cost, this.cost(key), this.cost(value))
      keys = unite(keys, this.#sizeOf(key) ?? unknown)
      values = unite(values, this.#sizeOf(value) ?? unknown)
    }
    this.#entries.set(expr, { isList: false, key: keys ?? zero, value: values ?? zero })
    return cost
  }

  #binding(expr: FoldExpr): Range {
    const start = add(this.cost(expr.range), this.cost(expr.init))
    this.#bind(expr.accuVar, expr.init)
    const cost = this.cost(expr.result)
    this.#locals.pop()
    this.#copySizes(expr, expr.result)
    return add(start, cost)
  }

  #bind(name: string, init: Expr): void {
    const [path, size, entries] = [this.#pathOf(init), this.#sizeOf(init), this.#entriesOf(init)]
    this.#locals.push({ name, path, size, entries })
  }

  #fold(expr: FoldExpr): Range {
    const start = add(this.cost(expr.range), this.cost(expr.init))
    const depth = this.#locals.length
    this.#bind(expr.accuVar, expr.init)
    this.#locals.push(...this.#iterated(expr))
    const loop = add(this.cost(expr.condition), this.cost(expr.step))
    this.#locals.length = depth + 1
    const result = this.cost(expr.result)
    this.#locals.length = depth
    const count = this.#sizeOf(expr.range) ?? unknown
    this.#sizeOfFold(expr, count)
    return add(start, result, multiply(count, loop))
  }

  #sizeOfFold(expr: FoldExpr, count: Range): void {
    const { kind } = expr.init
    const size = kind === 'literal' ? this.#sizeOf(expr.init) : count
    if (kind !== 'literal' && kind !== 'list' && kind !== 'map') return
    if (size !== undefined) this.#sizes.set(expr, size)
    const entries = kind === 'literal' ? undefined : this.#entriesOf(expr.step)
    if (entries !== undefined) this.#entries.set(expr, entries)
  }

  #iterated({ range, iterVar, iterVar2 }: FoldExpr): readonly Local[] {
    const entries = this.#entriesOf(range)
    const isList = entries?.isList ?? this.#checked.typeOf(range).kind === 'list'
    const path = this.#pathOf(range)
    const local = (name: string, step: string, size: Range | undefined): Local => {
      return { name, path: Path.append(path, step), size, entries: undefined }
    }
    if (iterVar2 === undefined) {
      return [isList ? local(iterVar, '@items', entries?.value) : local(iterVar, '@keys', entries?.key)]
    }
    return [
      local(iterVar, isList ? '@indices' : '@keys', entries?.key),
      local(iterVar2, isList ? '@items' : '@values', entries?.value),
    ]
  }

  #operand(expr: Expr): Operand {
    const size = this.#sizeOf(expr)
    const type = this.#checked.typeOf(expr)
    const path = this.#pathOf(expr)
    return {
      expr,
      type,
      size,
      sizeOfItems: () => this.#schemaSize(path, '@items'),
    }
  }

  #entriesOf(expr: Expr): EntrySize | undefined {
    return this.#entries.get(expr) ?? (expr.kind === 'ident' ? this.#local(expr.name)?.entries : undefined)
  }

  /** Returns the size of an expression; undefined where it is unknown. */
  #sizeOf(expr: Expr): Range | undefined {
    const known = this.#sizes.get(expr) ?? sizeOfLiteral(expr)
    if (known !== undefined) return known
    const declared = this.#schemaSize(this.#pathOf(expr))
    if (declared !== undefined) {
      this.#sizes.set(expr, declared)
      return declared
    }
    if (isScalar(this.#checked.typeOf(expr))) return one
    return expr.kind === 'ident' ? this.#local(expr.name)?.size : undefined
  }

  /** Returns a size from the schema. Every path is looked up from self, also the path of an item of a literal. */
  #schemaSize(path: Path | undefined, ...more: readonly string[]): Range | undefined {
    if (path === undefined) return undefined
    let type: SchemaType | undefined = this.#self
    for (const step of [...path.steps.slice(1), ...more]) type = type && below(type, step)
    return type === undefined ? undefined : { min: 0, max: type.maxElements }
  }
}

const steps: Readonly<Record<string, string>> = {
  '_[_](list(A), int): A': '@items',
  '_[_](map(A, B), A): B': '@values',
}

function below(type: SchemaType, step: string): SchemaType | undefined {
  if (step === '@items' || step === '@values') return type.items
  return step === '@keys' ? type.keys : type.fields?.get(step)
}

function unite(left: Range | undefined, right: Range | undefined): Range | undefined {
  return left === undefined || right === undefined ? (left ?? right) : union(left, right)
}

/** Checks whether a loop is a binding, made by `cel.bind` and other macros: its range is empty. */
function isBinding({ range, condition, accuVar }: FoldExpr): boolean {
  const isEmpty = range.kind === 'list' && range.items.length === 0
  return isEmpty && condition.kind === 'literal' && condition.value === false && accuVar !== '__result__'
}

function sizeOfLiteral(expr: Expr): Range | undefined {
  if (expr.kind === 'list') return exactly(expr.items.length)
  if (expr.kind === 'map') return exactly(expr.entries.length)
  if (expr.kind !== 'literal') return undefined
  if (typeof expr.value === 'string') return exactly(textLength(expr.value))
  return exactly(expr.value instanceof Uint8Array ? expr.value.length : 1)
}

const scalars = new Set(['bool', 'double', 'duration', 'int', 'timestamp', 'uint'])

function isScalar(type: CelType): boolean {
  return isOptional(type) ? type.parameters.every(isScalar) : scalars.has(type.kind)
}
