import type { CheckedExpr, ResolvedCall } from '../check/checker.ts'
import { costOfCall } from '../cost/call-costs.ts'
import { patternProblem } from '../library/patterns.ts'
import {
  type CallExpr,
  type Expr,
  type FoldExpr,
  type ListExpr,
  type MapExpr,
  qualifiedName,
  type SelectExpr,
} from '../syntax/expr.ts'
import { areEqual } from '../values/equality.ts'
import { GrowingList, ItemList } from '../values/lists.ts'
import { EntryMap } from '../values/maps.ts'
import { CelError, ListValue, MapValue, noSuchOverload, OptionalValue, type Value } from '../values/values.ts'
import { type Attribute, type Qualifier, resolution } from './attributes.ts'
import { dispatch, type Work } from './dispatch.ts'
import { foldStep } from './fold.ts'
import type { Frame, Step } from './frame.ts'
import { membership } from './membership.ts'

/** An expression that is ready for evaluation. Constants are evaluated during planning. */
interface Planned {
  readonly run: Step
  readonly constant?: Value
  readonly attribute?: Attribute
}

/** A variable with its own slot: the initial value of a variable may be evaluated within a later loop. */
interface Variable {
  readonly name: string
  readonly slot: number
  /** The initial value of an accumulator. */
  readonly init: Step | undefined
}

/** The error for a constant part that cannot be evaluated: no value could satisfy the rule. */
export class PlanProblem extends Error {}

const conversions = new Set([
  'bool',
  'bytes',
  'double',
  'dyn',
  'duration',
  'int',
  'string',
  'timestamp',
  'type',
  'uint',
])

/** Returns the evaluation of an expression. `variables` have the first slots, in their order. Throws a PlanProblem. */
export function planEvaluation(checked: CheckedExpr, variables: readonly string[]): Step {
  return new Planner(checked, variables).plan(checked.root).run
}

class Planner {
  readonly #checked: CheckedExpr
  /** The variables in scope. */
  readonly #scope: Variable[]
  #slotCount: number

  constructor(checked: CheckedExpr, variables: readonly string[]) {
    this.#checked = checked
    this.#scope = variables.map((name, slot) => ({ name, slot, init: undefined }))
    this.#slotCount = variables.length
  }

  plan(expr: Expr): Planned {
    const type = this.#checked.constantOf(expr)
    if (type !== undefined) return constant(type)
    switch (expr.kind) {
      case 'literal':
        return constant(expr.value)
      case 'ident':
        return attribute(this.#variable(expr.name))
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
        throw new PlanProblem(`unknown type: ${expr.name}`)
    }
  }

  #variable(name: string): Attribute {
    const { slot, init } = this.#scope.findLast((variable) => variable.name === name) ?? { slot: -1, init: undefined }
    const start: Step = init === undefined ? () => new CelError(`no such attribute(s): ${name}`) : growing(init)
    const base: Step = (frame) => {
      const value = frame.slots[slot]
      if (value !== undefined) return value
      const first = start(frame)
      frame.slots[slot] = first
      return first
    }
    return { base, qualifiers: [], cost: 1 }
  }

  #declare(name: string, init?: Step): number {
    const slot = this.#slotCount++
    this.#scope.push({ name, slot, init })
    return slot
  }

  /** Returns the attribute that an expression extends; a computed value begins a new one. */
  #start(expr: Expr): Attribute {
    const planned = this.plan(expr)
    return planned.attribute ?? { base: planned.run, qualifiers: [], cost: 1 }
  }

  #select(expr: SelectExpr): Planned {
    const { operand, field, isTest } = expr
    // A variable can have a name with dots: `authorizer.requestResource`.
    const name = qualifiedName(expr)
    if (name !== undefined && this.#scope.some((variable) => variable.name === name))
      return attribute(this.#variable(name))
    const start = this.#start(operand)
    const way = extend(start, { isOptional: false, isTest, key: () => field })
    return isTest ? presence(way) : attribute(way)
  }

  #call(expr: CallExpr): Planned {
    const call = this.#checked.callOf(expr)
    switch (call.name) {
      case '_&&_':
        return { run: this.#logical(call, false) }
      case '_||_':
        return { run: this.#logical(call, true) }
      case '_?_:_':
        return attribute(this.#choice(call))
      case '_[_]':
      case '_[?_]':
      case '_?._':
        return attribute(this.#index(call))
      case 'or':
      case 'orValue':
        return { run: this.#alternative(call) }
      default:
        return this.#function(call)
    }
  }

  /** Plans `&&` or `||`: the deciding value ends it, and an error counts only where no operand decides. */
  #logical({ args }: ResolvedCall, deciding: boolean): Step {
    const [left, right] = args.map((arg) => this.plan(arg).run) as [Step, Step]
    return (frame) => {
      const first = left(frame)
      if (first === deciding) return deciding
      const second = right(frame)
      if (second === deciding) return deciding
      if (typeof first !== 'boolean') return first instanceof CelError ? first : noSuchOverload
      if (typeof second !== 'boolean') return second instanceof CelError ? second : noSuchOverload
      return !deciding
    }
  }

  #choice({ args }: ResolvedCall): Attribute {
    const [condition, then, otherwise] = args.map((arg) => this.plan(arg)) as [Planned, Planned, Planned]
    const [yes, no] = [then, otherwise].map(({ attribute: way, run }) => (way ? resolution(way) : run)) as [Step, Step]
    const base: Step = (frame) => {
      const answer = condition.run(frame)
      if (answer === true) return yes(frame)
      if (answer === false) return no(frame)
      return answer instanceof CelError ? answer : noSuchOverload
    }
    return { base, qualifiers: [], cost: 0 }
  }

  #index({ name, args: [operand, index] }: ResolvedCall): Attribute {
    const start = this.#start(operand as Expr)
    const planned = this.plan(index as Expr)
    const key = planned.attribute === undefined ? planned.run : resolution(planned.attribute)
    return extend(start, { isOptional: name !== '_[_]', isTest: false, key })
  }

  #alternative({ name, target, args: [other] }: ResolvedCall): Step {
    const first = this.plan(target as Expr).run
    const second = this.plan(other as Expr).run
    return (frame) => {
      const optional = first(frame)
      if (!(optional instanceof OptionalValue)) return optional
      if (optional.value === undefined) return second(frame)
      return name === 'or' ? optional : optional.value
    }
  }

  #function(call: ResolvedCall): Planned {
    const { name, target, args } = call
    const operands = (target === undefined ? args : [target, ...args]).map((each) => this.plan(each))
    const signature = call.overloads.length === 1 ? (call.overloads[0]?.signature ?? '') : ''
    const [value, range] = operands
    const test = signature === '@in(A, list(A)): bool' ? membership(value?.run, range?.constant) : undefined
    if (test !== undefined) return typeof test === 'boolean' ? constant(test) : { run: test }
    checkPattern(name, operands)
    const run = this.#counted(call, signature, operands)
    const [only, ...more] = operands
    if (!conversions.has(name) || only?.constant === undefined || more.length > 0) return { run }
    return folded(dispatch(call)([only.constant], noWork))
  }

  #counted(call: ResolvedCall, signature: string, operands: readonly Planned[]): Step {
    const steps = operands.map(({ run }) => run)
    const cost = costOfCall(call.name, signature)
    const work = call.name === '_==_' || call.name === '_!=_' ? comparison(call.name === '_==_') : dispatch(call)
    const isLazy = steps.length > 2 || call.name === 'findAll' || hasFixedPattern(call.name, operands)
    return (frame) => {
      const values: Value[] = []
      let failure: CelError | undefined
      for (const [index, step] of steps.entries()) {
        const value = step(frame)
        values.push(value)
        if (typeof value === 'string') frame.meter.work(value.length / charactersOfWork)
        if (!(value instanceof CelError)) continue
        if (isLazy && index < steps.length - 1) return value
        failure ??= value
      }
      const isStrict = call.name !== '@not_strictly_false'
      const result = failure !== undefined && isStrict ? failure : work(values, frame.meter)
      frame.meter.spend(cost(values, result))
      return result
    }
  }

  #list({ items }: ListExpr): Planned {
    const planned = items.map(({ value }) => this.plan(value))
    const constants = planned.flatMap(({ constant: value }) => (value === undefined ? [] : [value]))
    if (constants.length === items.length) return constant(new ItemList(constants))
    const run: Step = (frame) => {
      const values: Value[] = []
      for (const [index, { run: step }] of planned.entries()) {
        const value = step(frame)
        const kept = items[index]?.isOptional === true ? optionalItem(value) : value
        if (kept instanceof CelError) return counted(frame, 10, kept)
        if (kept !== undefined) values.push(kept)
      }
      return counted(frame, 10, new ItemList(values))
    }
    return { run }
  }

  #map({ entries }: MapExpr): Planned {
    const planned = entries.map(({ key, value, isOptional }) => {
      return { key: this.plan(key), value: this.plan(value), isOptional }
    })
    const constants = planned.flatMap(({ key, value }) => {
      return key.constant === undefined || value.constant === undefined ? [] : [[key.constant, value.constant] as const]
    })
    if (constants.length === entries.length) return constant(new EntryMap(constants))
    const run: Step = (frame) => {
      const made: (readonly [Value, Value])[] = []
      for (const { key, value, isOptional } of planned) {
        const name = key.run(frame)
        if (name instanceof CelError) return counted(frame, 30, name)
        const given = value.run(frame)
        const kept = isOptional ? optionalItem(given) : given
        if (kept instanceof CelError) return counted(frame, 30, kept)
        if (kept !== undefined) made.push([name, kept])
      }
      return counted(frame, 30, new EntryMap(made))
    }
    return { run }
  }

  #fold(expr: FoldExpr): Planned {
    const depth = this.#scope.length
    const range = this.plan(expr.range).run
    const accuSlot = this.#declare(expr.accuVar, this.plan(expr.init).run)
    const firstSlot = this.#declare(expr.iterVar)
    const secondSlot = expr.iterVar2 === undefined ? undefined : this.#declare(expr.iterVar2)
    const condition = this.plan(expr.condition).run
    const step = this.plan(expr.step).run
    this.#scope.length = depth + 1
    const result = this.plan(expr.result).run
    this.#scope.length = depth
    return { run: foldStep({ range, condition, step, result, accuSlot, firstSlot, secondSlot }) }
  }
}

/** Returns a step that makes the empty list or map of a loop, which then grows in place. */
function growing(init: Step): Step {
  return (frame) => {
    const value = init(frame)
    if (value instanceof ListValue && value.size === 0) return new GrowingList()
    return value instanceof MapValue && value.size === 0 ? new EntryMap() : value
  }
}

/** The number of characters that a text function visits in the time of one list item. */
const charactersOfWork = 100

const noWork = { work: () => undefined }

function constant(value: Value): Planned {
  return { run: () => value, constant: value }
}

function folded(value: Value): Planned {
  if (value instanceof CelError) throw new PlanProblem(value.message)
  return constant(value)
}

function attribute(way: Attribute): Planned {
  const resolve = resolution(way)
  if (way.cost === 0) return { run: resolve, attribute: way }
  const run: Step = (frame) => {
    const value = resolve(frame)
    frame.meter.spend(1)
    return value
  }
  return { run, attribute: way }
}

/** Plans a check for presence. Kubernetes does not count the step itself. */
function presence(way: Attribute): Planned {
  const resolve = resolution(way)
  const run: Step = (frame) => {
    const value = resolve(frame)
    return value instanceof OptionalValue ? value.value !== undefined : value
  }
  return { run, attribute: way }
}

function extend(way: Attribute, qualifier: Qualifier): Attribute {
  return { ...way, qualifiers: [...way.qualifiers, qualifier] }
}

function counted(frame: Frame, cost: number, value: Value): Value {
  frame.meter.spend(cost)
  return value
}

/** Returns the entry that an optional value makes in a list or map; undefined for none. */
function optionalItem(value: Value): Value | undefined {
  if (value instanceof OptionalValue) return value.value
  return value instanceof CelError ? value : new CelError('cannot initialize optional entry from non-optional value')
}

function comparison(isEqual: boolean): Work {
  return ([left = null, right = null], meter) => {
    const answer = areEqual(left, right, meter)
    return isEqual ? answer : answer !== true
  }
}

const searches = new Set(['matches', 'find', 'findAll'])

function hasFixedPattern(name: string, [, pattern]: readonly Planned[]): boolean {
  return searches.has(name) && typeof pattern?.constant === 'string'
}

/** Checks that a literal pattern is valid. */
function checkPattern(name: string, operands: readonly Planned[]): void {
  const text = hasFixedPattern(name, operands) ? operands[1]?.constant : undefined
  const problem = typeof text === 'string' ? patternProblem(text) : undefined
  if (problem !== undefined) throw new PlanProblem(problem)
}
