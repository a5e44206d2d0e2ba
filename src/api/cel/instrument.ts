import { type CelNode, nodesOf } from './ast.ts'
import { type CostMeter, deepCost, perCallLimit, traversalCost } from './meter.ts'

/** Makes every node of a checked expression count on the meter: a unit for itself, and what its work goes through. */
export function countCosts(root: unknown, meter: CostMeter): void {
  for (const node of nodesOf(root)) {
    countHandling(node, meter)
    countNode(node, meter)
  }
}

function countNode(node: CelNode, meter: CostMeter): void {
  if (node.op === 'value' || node.meta.alternate !== undefined) return
  const { macro } = node.meta
  // What the node would take at its first evaluation, in place of the method that takes it.
  const evaluate = macro?.evaluate ?? node.meta.evaluate
  node.evaluate = (evaluator, self, context) => {
    meter.spend(1)
    const value = evaluate.call(macro ?? node, evaluator, macro ?? self, context)
    if (producing.has(node.op)) meter.spend(traversalCost(value))
    return value
  }
}

/** What makes new texts and lists; the others hand on what is there. */
const producing: ReadonlySet<string> = new Set(['+', 'call', 'rcall', 'list', 'map'])
const comparing: ReadonlySet<string> = new Set(['==', '!=', 'in'])
const ordering: ReadonlySet<string> = new Set(['<', '<=', '>', '>='])

function countHandling(node: CelNode, meter: CostMeter): void {
  const { handle, op } = node
  if (handle === undefined) return
  if (comparing.has(op)) {
    node.handle = (left, right, ...rest) => {
      meter.spend(Math.min(deepCost(left, perCallLimit), op === 'in' ? perCallLimit : deepCost(right, perCallLimit)))
      if (op === 'in') meter.spend(membershipCost(left, right))
      return handle(left, right, ...rest)
    }
  } else if (ordering.has(op)) {
    node.handle = (left, right, ...rest) => {
      meter.spend(Math.min(traversalCost(left), traversalCost(right)))
      return handle(left, right, ...rest)
    }
  } else if (op === 'call' || op === 'rcall') {
    node.handle = (operands, ...rest) => {
      if (Array.isArray(operands)) for (const operand of operands) meter.spend(traversalCost(operand))
      return handle(operands, ...rest)
    }
  }
}

/** A map is asked, a list gone through. */
function membershipCost(value: unknown, range: unknown): number {
  return Array.isArray(range) ? range.length * (1 + traversalCost(value)) : 1
}
