/** Of a macro the second operand is the macro, not the node. */
type Evaluate = (evaluator: unknown, node: unknown, context: unknown) => unknown

/** A node of the library's syntax tree, as far as it is looked at and changed here. */
export interface CelNode {
  readonly op: string
  args: unknown
  evaluate: Evaluate
  /** Set by the type check: does the node's work with its operands evaluated. */
  handle?: (...operands: unknown[]) => unknown
  readonly meta: {
    readonly evaluate: Evaluate
    readonly alternate?: CelNode
    readonly macro?: { readonly evaluate?: Evaluate }
  }
}

function isNode(value: object): value is CelNode {
  return 'op' in value && 'evaluate' in value && typeof value.evaluate === 'function' && 'meta' in value
}

/** Every node of an expression, also those that macros hold, each once. */
export function nodesOf(root: unknown): readonly CelNode[] {
  const seen = new Set<object>()
  const nodes: CelNode[] = []
  const waiting: unknown[] = [root]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (typeof value !== 'object' || value === null || seen.has(value)) continue
    seen.add(value)
    if (isNode(value)) {
      nodes.push(value)
      waiting.push(value.args, value.meta.alternate, value.meta.macro)
    } else if (Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype) {
      waiting.push(...Object.values(value))
    }
  }
  return nodes
}
