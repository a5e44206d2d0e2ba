import type { CallExpr, Expr } from '../syntax/expr.ts'
import type { Problem } from '../syntax/source.ts'
import type { CheckedExpr } from './checker.ts'

const clausePattern = /%(?:(%)|(?:\.(\d*))?([\s\S]?))/g

const kinds: Readonly<Record<string, readonly [kinds: readonly string[], otherwise: string]>> = {
  d: [['int', 'uint'], 'decimal clause can only be used on integers'],
  f: [['double', 'string'], 'fixed-point clause can only be used on doubles'],
  e: [['double', 'string'], 'scientific clause can only be used on doubles'],
  b: [['int', 'uint', 'bool'], 'only integers and bools can be formatted as binary'],
  x: [['int', 'uint', 'string', 'bytes'], 'only integers, byte buffers, and strings can be formatted as hex'],
  o: [['int', 'uint'], 'octal clause can only be used on integers'],
}
const texts = 'list map int uint double bool string timestamp bytes duration type null'.split(' ')
const textProblem =
  'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps'

/** Checks `"%d".format([…])` with literal operands: each clause must have a value that it can show. */
export function formatProblems(call: CallExpr, checked: CheckedExpr): readonly Problem[] {
  const { name, target, args } = call
  const [list] = args
  if (name !== 'format' || target?.kind !== 'literal' || typeof target.value !== 'string') return []
  if (list?.kind !== 'list' || args.length !== 1) return []
  const items = list.items.map(({ value }) => value)
  let used = 0
  for (const [, percent, , verb = ''] of target.value.matchAll(clausePattern)) {
    if (percent !== undefined) continue
    const problem = clauseProblem(verb, items[used], used, checked)
    if (problem !== undefined) return [{ offset: problem.at?.offset ?? call.offset, text: problem.text }]
    used++
  }
  if (items.length <= used) return []
  const text = `too many arguments supplied to string.format (expected ${used}, got ${items.length})`
  return [{ offset: call.offset, text }]
}

interface ClauseProblem {
  readonly at?: Expr
  readonly text: string
}

function clauseProblem(
  verb: string,
  item: Expr | undefined,
  index: number,
  checked: CheckedExpr,
): ClauseProblem | undefined {
  if (verb === '') return { text: 'unexpected end of string' }
  if (item === undefined) return { text: `index ${index} out of range` }
  if (verb === 's') return textClause(item, checked)
  const rule = kinds[verb.toLowerCase()]
  if (rule === undefined || (verb !== verb.toLowerCase() && verb !== 'X')) {
    return { text: `could not parse formatting clause: unrecognized formatting clause "${verb}"` }
  }
  const type = checked.typeOf(item)
  if (type.kind === 'dyn' || rule[0].includes(type.kind)) return undefined
  return { at: item, text: `error during formatting: ${rule[1]}, was given ${type.name}` }
}

function textClause(item: Expr, checked: CheckedExpr): ClauseProblem | undefined {
  const type = checked.typeOf(item)
  if (type.kind !== 'dyn' && !texts.includes(type.kind)) {
    return { at: item, text: `error during formatting: ${textProblem}, was given ${type.name}` }
  }
  const inner =
    item.kind === 'list'
      ? item.items.map(({ value }) => value)
      : item.kind === 'map'
        ? item.entries.flatMap(({ key, value }) => [key, value])
        : []
  for (const each of inner) {
    const problem = textClause(each, checked)
    if (problem !== undefined) return problem
  }
  return undefined
}
