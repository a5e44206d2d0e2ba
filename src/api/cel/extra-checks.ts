import { type CelNode, nodesOf } from './ast.ts'
import { CelFailure } from './library/failure.ts'
import { patternOf } from './library/patterns.ts'
import { toDuration, toTimestamp } from './library/times.ts'

/** A type that the library found. */
interface CheckedType {
  readonly name: string
  readonly kind: string
  readonly hasDynType: boolean
  readonly hasPlaceholderType: boolean
}

function typeOf(node: unknown): CheckedType | undefined {
  return (node as { readonly checkedType?: CheckedType } | undefined)?.checkedType
}

/** After the type check: what cel-go refuses and the library takes. Throws CelFailure. */
export function checkTyped(root: unknown): void {
  const nodes = nodesOf(root)
  const formatted = new Set(nodes.flatMap(formatOperands))
  for (const node of nodes) {
    if (node.op === '[]') checkIndexed(node)
    if (node.op === 'list' && !formatted.has(node)) checkSameTypes(node.args as readonly unknown[])
    if (node.op === 'map')
      for (const side of [0, 1]) checkSameTypes((node.args as readonly unknown[][]).map((entry) => entry[side]))
    checkLiteral(node)
  }
}

/** The list of `"…".format([…])` may hold values of any types. */
function formatOperands({ op, args }: CelNode): readonly unknown[] {
  if (op !== 'rcall') return []
  const [name, , operands] = args as readonly [string, unknown, readonly unknown[]]
  return name === 'format' ? operands : []
}

function checkIndexed({ args }: CelNode): void {
  const [left, right] = (args as readonly unknown[]).map(typeOf)
  if (left?.kind !== 'message') return
  throw new CelFailure(`found no matching overload for '_[_]' applied to '(${left.name}, ${right?.name})'`)
}

function checkSameTypes(nodes: readonly unknown[]): void {
  const types = nodes.map(typeOf).filter((type) => type !== undefined && !type.hasDynType && !type.hasPlaceholderType)
  const other = types.find((type) => type?.name !== types[0]?.name)
  if (other !== undefined) throw new CelFailure(`expected type '${types[0]?.name}' but found '${other.name}'`)
}

const literalChecks: Readonly<Record<string, readonly [what: string, check: (text: string) => unknown]>> = {
  matchesRe2: ['matches', patternOf],
  durationOf: ['duration', toDuration],
  timestampOf: ['timestamp', toTimestamp],
}

function checkLiteral({ op, args }: CelNode): void {
  if (op !== 'call' && op !== 'rcall') return
  const [name, ...rest] = args as readonly [string, ...unknown[]]
  const known = Object.hasOwn(literalChecks, name) ? literalChecks[name] : undefined
  const operand = (rest.at(-1) as readonly CelNode[]).at(-1)
  if (known === undefined || operand?.op !== 'value' || typeof operand.args !== 'string') return
  try {
    known[1](operand.args)
  } catch {
    throw new CelFailure(`invalid ${known[0]} argument`)
  }
}
