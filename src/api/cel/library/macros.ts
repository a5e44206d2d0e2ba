import { Optional } from '@marcbachmann/cel-js'
import type { CelMacro } from '../environment.ts'
import { CelFailure } from './failure.ts'

/** What the library gives a macro, as far as it is used here. */
interface CelType {
  readonly kind: string
  readonly keyType?: CelType
  readonly valueType?: CelType
}

interface Checker {
  readonly registry: {
    getListType(value: CelType): CelType
    getMapType(key: CelType, value: CelType): CelType
    getOptionalType(value: CelType): CelType
  }
  check(node: Node, context: Context): CelType
  getType(name: string): CelType
}

interface Evaluator {
  run(node: Node, context: Context): unknown
}

interface Context {
  forkWithVariable(name: string, type: CelType): Overlay
}

interface Overlay extends Context {
  reuse(parent: Context): Overlay
  setIterValue(value: unknown, evaluator: Evaluator): Overlay
}

interface Node {
  readonly op: string
  readonly args: unknown
}

export interface MacroCall {
  readonly args: readonly Node[]
  readonly receiver: Node
}

function nameOf(node: Node | undefined): string {
  if (node?.op === 'id' && typeof node.args === 'string') return node.args
  throw new CelFailure('the variable of a macro must be a name')
}

/** The types of keys and values of a range: an index and an item of a list. */
function rangeTypes(checker: Checker, range: CelType): readonly [key: CelType, value: CelType] {
  const dyn = checker.getType('dyn')
  if (range.kind === 'list') return [checker.getType('int'), range.valueType ?? dyn]
  if (range.kind === 'map') return [range.keyType ?? dyn, range.valueType ?? dyn]
  if (range.kind === 'dyn') return [dyn, dyn]
  throw new CelFailure('the range of a comprehension must be a list or a map')
}

function pairsOf(range: unknown): readonly (readonly [unknown, unknown])[] {
  if (Array.isArray(range)) return range.map((item, index) => [BigInt(index), item] as const)
  if (range instanceof Map) return [...range]
  if (typeof range === 'object' && range !== null) return Object.entries(range)
  throw new CelFailure('the range of a comprehension must be a list or a map')
}

/** A macro over the keys and values of its receiver; `collect` gets each pair with a way to evaluate the nodes that follow the two names. */
interface PairMacro {
  readonly nodes: (call: MacroCall) => readonly Node[]
  readonly type: (checker: Checker, types: readonly CelType[], key: CelType) => CelType
  readonly collect: (pairs: Iterable<Pair>) => unknown
}

interface Pair {
  readonly key: unknown
  readonly evaluate: (index: number) => unknown
}

function pairMacro({ nodes, type, collect }: PairMacro): CelMacro {
  return (call: MacroCall) => {
    const [first, second] = [nameOf(call.args[0]), nameOf(call.args[1])]
    const bodies = nodes(call)
    let overlays: readonly [Overlay, Overlay] | undefined
    return {
      receiver: call.receiver,
      bodies,
      async: false,
      typeCheck: (checker: Checker, _macro: unknown, context: Context) => {
        const [key, value] = rangeTypes(checker, checker.check(call.receiver, context))
        const outer = context.forkWithVariable(first, key)
        const inner = outer.forkWithVariable(second, value)
        overlays = [outer, inner]
        return type(
          checker,
          bodies.map((body) => checker.check(body, inner)),
          key,
        )
      },
      evaluate: (evaluator: Evaluator, _macro: unknown, context: Context) => {
        if (overlays === undefined) throw new CelFailure('the expression has not been checked')
        const [outer, inner] = overlays
        const pairs = pairsOf(evaluator.run(call.receiver, context)).map(([key, value]): Pair => {
          const evaluate = (index: number) => {
            const body = bodies[index]
            const below = inner.reuse(outer.reuse(context).setIterValue(key, evaluator)).setIterValue(value, evaluator)
            return body === undefined ? undefined : evaluator.run(body, below)
          }
          return { key, evaluate }
        })
        return collect(pairs)
      },
    }
  }
}

/** Stops at the first pair that decides; an error counts only where none does. */
function quantify(deciding: boolean): (pairs: Iterable<Pair>) => boolean {
  return (pairs) => {
    let failure: unknown
    for (const { evaluate } of pairs) {
      try {
        if (evaluate(0) === deciding) return deciding
      } catch (thrown) {
        failure ??= thrown
      }
    }
    if (failure !== undefined) throw failure
    return !deciding
  }
}

function existsOne(pairs: Iterable<Pair>): boolean {
  let count = 0
  for (const { evaluate } of pairs) count += evaluate(0) === true ? 1 : 0
  return count === 1
}

const boolType = (checker: Checker) => checker.getType('bool')
const third = ({ args }: MacroCall) => args.slice(2)

function* kept(pairs: Iterable<Pair>, isFiltered: boolean): Generator<readonly [unknown, unknown]> {
  for (const { key, evaluate } of pairs) {
    if (!isFiltered) yield [key, evaluate(0)]
    else if (evaluate(0) === true) yield [key, evaluate(1)]
  }
}

function transforms(isFiltered: boolean): readonly (readonly [string, CelMacro])[] {
  const last = isFiltered ? 1 : 0
  const names = isFiltered ? 'ast, ast, ast, ast' : 'ast, ast, ast'
  const lastOf = (checker: Checker, types: readonly CelType[]) => types[last] ?? checker.getType('dyn')
  return [
    [
      `list.transformList(${names}): list<dyn>`,
      pairMacro({
        nodes: third,
        type: (checker, types) => checker.registry.getListType(lastOf(checker, types)),
        collect: (pairs) => [...kept(pairs, isFiltered)].map(([, value]) => value),
      }),
    ],
    [
      `list.transformMap(${names}): map<dyn, dyn>`,
      pairMacro({
        nodes: third,
        type: (checker, types, key) => checker.registry.getMapType(key, lastOf(checker, types)),
        collect: (pairs) => new Map(kept(pairs, isFiltered)),
      }),
    ],
    [
      `list.transformMapEntry(${names}): map<dyn, dyn>`,
      pairMacro({
        nodes: third,
        type: (checker, types) => lastOf(checker, types),
        collect: (pairs) => new Map([...kept(pairs, isFiltered)].flatMap(([, entry]) => [...pairsOf(entry)])),
      }),
    ],
  ]
}

/** `optMap` and `optFlatMap`: what becomes of a value where there is one. */
function optionalMacro(isFlat: boolean): CelMacro {
  return ({ receiver, args }: MacroCall) => {
    const name = nameOf(args[0])
    const body = args[1]
    if (body === undefined) throw new CelFailure('a macro lacks its expression')
    let overlay: Overlay | undefined
    return {
      receiver,
      body,
      async: false,
      typeCheck: (checker: Checker, _macro: unknown, context: Context) => {
        const type = checker.check(receiver, context)
        overlay = context.forkWithVariable(name, type.valueType ?? checker.getType('dyn'))
        const result = checker.check(body, overlay)
        return isFlat ? result : checker.registry.getOptionalType(result)
      },
      evaluate: (evaluator: Evaluator, _macro: unknown, context: Context) => {
        const value = evaluator.run(receiver, context)
        if (!(value instanceof Optional) || overlay === undefined)
          throw new CelFailure('no such overload: optMap of what is no optional')
        if (!value.hasValue()) return Optional.none()
        const result = evaluator.run(body, overlay.reuse(context).setIterValue(value.value(), evaluator))
        return isFlat ? result : Optional.of(result)
      },
    }
  }
}

/** cel-go's optional macros and two-variable comprehensions. */
export const macros: readonly (readonly [signature: string, macro: CelMacro])[] = [
  ['optional.optMap(ast, ast): optional<dyn>', optionalMacro(false)],
  ['optional.optFlatMap(ast, ast): optional<dyn>', optionalMacro(true)],
  ['list.all(ast, ast, ast): bool', pairMacro({ nodes: third, type: boolType, collect: quantify(false) })],
  ['list.exists(ast, ast, ast): bool', pairMacro({ nodes: third, type: boolType, collect: quantify(true) })],
  ['list.existsOne(ast, ast, ast): bool', pairMacro({ nodes: third, type: boolType, collect: existsOne })],
  ['list.exists_one(ast, ast, ast): bool', pairMacro({ nodes: third, type: boolType, collect: existsOne })],
  ...transforms(false),
  ...transforms(true),
]
