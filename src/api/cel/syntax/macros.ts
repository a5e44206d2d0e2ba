import { type CallExpr, call, type Expr, ident, literal } from './expr.ts'
import type { Problem } from './source.ts'

/** The names of the macros that an environment has. */
export type MacroSet = 'new' | 'stored'

const accumulator = '__result__'
/** A name that no expression can write. */
const unused = '#unused'

interface MacroCall {
  readonly offset: number
  readonly target: Expr
  readonly args: readonly Expr[]
}

type Expansion = { readonly expr: Expr } | { readonly problem: Problem }

class MacroProblem extends Error {
  readonly problem: Problem

  constructor({ offset }: Expr, text: string) {
    super(text)
    this.problem = { offset, text }
  }
}

/** Expands a call of a macro; other calls stay as they are. */
export function expandMacro(expr: CallExpr, macros: MacroSet): Expansion {
  const { offset, name, target, args } = expr
  const key = `${name}/${args.length}`
  try {
    if (target === undefined) return { expr: key === 'has/1' ? presenceTest(offset, args) : expr }
    const isKnown = Object.hasOwn(expanders, key) && (key !== 'sortBy/2' || macros === 'stored')
    return { expr: (isKnown ? expanders[key]?.({ offset, target, args }) : undefined) ?? expr }
  } catch (thrown) {
    if (thrown instanceof MacroProblem) return { problem: thrown.problem }
    throw thrown
  }
}

function presenceTest(offset: number, [field]: readonly Expr[]): Expr {
  if (field?.kind === 'select') return { ...field, offset, isTest: true }
  throw new MacroProblem(field ?? ident(offset, ''), 'invalid argument to has() macro')
}

interface Loop {
  readonly variables: readonly [string] | readonly [string, string]
  readonly init: Expr
  readonly condition: Expr
  readonly step: Expr
  readonly result: Expr
}

function fold({ offset, target }: MacroCall, { variables, ...rest }: Loop): Expr {
  const [iterVar, iterVar2] = variables
  return { kind: 'fold', offset, range: target, iterVar, iterVar2, accuVar: accumulator, ...rest }
}

/**
 * Returns the names of one or two variables; errors have the wording of macros that test a condition or of macros that
 * make a list or map.
 */
function variablesOf(
  { args }: MacroCall,
  count: 1 | 2,
  otherwise: string,
): readonly [string] | readonly [string, string] {
  const [first, second] = args.slice(0, count).map((arg) => {
    if (arg.kind === 'ident') return arg.name
    throw new MacroProblem(arg, otherwise)
  })
  for (const [index, name] of [first, second].entries()) {
    if (name === accumulator) {
      throw new MacroProblem(args[index] as Expr, 'iteration variable overwrites accumulator variable')
    }
  }
  if (second === undefined) return [first ?? '']
  if (first === second) throw new MacroProblem(args[1] as Expr, `duplicate variable name: ${first}`)
  return [first ?? '', second]
}

const simple = 'argument must be a simple name'

function all(count: 1 | 2) {
  return (macro: MacroCall): Expr => {
    const { offset, args } = macro
    const accu = ident(offset, accumulator)
    return fold(macro, {
      variables: variablesOf(macro, count, simple),
      init: literal(offset, true),
      condition: call(offset, '@not_strictly_false', accu),
      step: call(offset, '_&&_', accu, args[count] as Expr),
      result: accu,
    })
  }
}

function exists(count: 1 | 2) {
  return (macro: MacroCall): Expr => {
    const { offset, args } = macro
    const accu = ident(offset, accumulator)
    return fold(macro, {
      variables: variablesOf(macro, count, simple),
      init: literal(offset, false),
      condition: call(offset, '@not_strictly_false', call(offset, '!_', accu)),
      step: call(offset, '_||_', accu, args[count] as Expr),
      result: accu,
    })
  }
}

function existsOne(count: 1 | 2) {
  return (macro: MacroCall): Expr => {
    const { offset, args } = macro
    const accu = ident(offset, accumulator)
    return fold(macro, {
      variables: variablesOf(macro, count, simple),
      init: literal(offset, 0n),
      condition: literal(offset, true),
      step: call(offset, '_?_:_', args[count] as Expr, call(offset, '_+_', accu, literal(offset, 1n)), accu),
      result: call(offset, '_==_', accu, literal(offset, 1n)),
    })
  }
}

/** Expands to a list of the values of `item`, for the items that pass the filter. */
function collect(macro: MacroCall, variables: Loop['variables'], filter: Expr | undefined, item: Expr): Expr {
  const { offset } = macro
  const list: Expr = { kind: 'list', offset, items: [{ value: item, isOptional: false }] }
  const accu = ident(offset, accumulator)
  return gather(macro, variables, filter, { kind: 'list', offset, items: [] }, call(offset, '_+_', accu, list))
}

function gather(
  macro: MacroCall,
  variables: Loop['variables'],
  filter: Expr | undefined,
  init: Expr,
  step: Expr,
): Expr {
  const { offset } = macro
  const accu = ident(offset, accumulator)
  return fold(macro, {
    variables,
    init,
    condition: literal(offset, true),
    step: filter === undefined ? step : call(offset, '_?_:_', filter, step, accu),
    result: accu,
  })
}

const identifier = 'argument is not an identifier'

function map(macro: MacroCall): Expr {
  const filter = macro.args.length === 3 ? macro.args[1] : undefined
  return collect(macro, variablesOf(macro, 1, identifier), filter, macro.args.at(-1) as Expr)
}

function filter(macro: MacroCall): Expr {
  const [item, condition] = macro.args as readonly [Expr, Expr]
  return collect(macro, variablesOf(macro, 1, identifier), condition, item)
}

function transformList(macro: MacroCall): Expr {
  const condition = macro.args.length === 4 ? macro.args[2] : undefined
  return collect(macro, variablesOf(macro, 2, simple), condition, macro.args.at(-1) as Expr)
}

/**
 * Expands `transformMap` where `hasKey` is set: each value keeps the key of its range. Otherwise the expression returns
 * entries.
 */
function transformMap(hasKey: boolean) {
  return (macro: MacroCall): Expr => {
    const { offset, args } = macro
    const variables = variablesOf(macro, 2, simple)
    const key = hasKey ? [ident(offset, variables[0])] : []
    const step = call(offset, 'cel.@mapInsert', ident(offset, accumulator), ...key, args.at(-1) as Expr)
    const condition = args.length === 4 ? args[2] : undefined
    return gather(macro, variables, condition, { kind: 'map', offset, entries: [] }, step)
  }
}

/** Binds a value to a name in one expression. */
function bind(offset: number, name: string, value: Expr, result: Expr): Expr {
  const range: Expr = { kind: 'list', offset, items: [] }
  const rest = { init: value, condition: literal(offset, false), step: ident(offset, name), result }
  return { kind: 'fold', offset, range, iterVar: unused, iterVar2: undefined, accuVar: name, ...rest }
}

/** Expands `optMap` and `optFlatMap`. */
function onValue(macroName: string, isFlat: boolean) {
  return ({ offset, target, args }: MacroCall): Expr => {
    const [variable, body] = args as readonly [Expr, Expr]
    if (variable.kind !== 'ident') {
      throw new MacroProblem(variable, `${macroName}() variable name must be a simple identifier`)
    }
    const member = (name: string): Expr => ({ kind: 'call', offset, name, target, args: [] })
    const bound = bind(offset, variable.name, member('value'), body)
    const some = isFlat ? bound : call(offset, 'optional.of', bound)
    return call(offset, '_?_:_', member('hasValue'), some, call(offset, 'optional.none'))
  }
}

const sortable = new Set(['list', 'select', 'ident', 'fold', 'call'])

function sortBy(macro: MacroCall): Expr {
  const { offset, target } = macro
  if (!sortable.has(target.kind)) {
    throw new MacroProblem(
      target,
      'sortBy can only be applied to a list, identifier, comprehension, call or select expression',
    )
  }
  const name = '@__sortBy_input__'
  const input = ident(offset, name)
  const keys = map({ ...macro, target: input })
  return bind(offset, name, target, {
    kind: 'call',
    offset,
    name: '@sortByAssociatedKeys',
    target: input,
    args: [keys],
  })
}

const expanders: Readonly<Record<string, (macro: MacroCall) => Expr>> = {
  'all/2': all(1),
  'exists/2': exists(1),
  'exists_one/2': existsOne(1),
  'map/2': map,
  'map/3': map,
  'filter/2': filter,
  'all/3': all(2),
  'exists/3': exists(2),
  'existsOne/3': existsOne(2),
  'exists_one/3': existsOne(2),
  'transformList/3': transformList,
  'transformList/4': transformList,
  'transformMap/3': transformMap(true),
  'transformMap/4': transformMap(true),
  'transformMapEntry/3': transformMap(false),
  'transformMapEntry/4': transformMap(false),
  'optMap/2': onValue('optMap', false),
  'optFlatMap/2': onValue('optFlatMap', true),
  'sortBy/2': sortBy,
}
