import type { Node } from '../objects/node.ts'
import type { NodeTerm, Requirements } from './requirements.ts'

/** Checks the pod's nodeSelector and required node affinity against the labels of the node. */
export function matchesNodeSelection({ nodeSelector, affinity }: Requirements, node: Node): boolean {
  const { labels } = node.metadata
  if (!Object.entries(nodeSelector).every(([key, value]) => labels[key] === value)) return false
  const required = affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution
  return required === undefined || required.nodeSelectorTerms.some((term) => matchesTerm(term, node))
}

/** Checks one term of node affinity. A term without requirements matches no node. */
export function matchesTerm({ matchExpressions, matchFields }: NodeTerm, node: Node): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false
  const byLabel = matchExpressions.every((expression) => matchesExpression(expression, node.metadata.labels))
  return byLabel && matchFields.every((field) => matchesExpression(field, { 'metadata.name': node.metadata.name }))
}

function matchesExpression(
  { key, operator, values }: NodeTerm['matchExpressions'][number],
  labels: Readonly<Record<string, string>>,
): boolean {
  const value = labels[key]
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value)
    case 'NotIn':
      return value === undefined || !values.includes(value)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
    default:
      return matchesBound(operator, value, values[0])
  }
}

function matchesBound(operator: 'Gt' | 'Lt', value: string | undefined, bound: string | undefined): boolean {
  const [one, other] = [value, bound].map((text) => (text && /^[+-]?\d{1,18}$/.test(text) ? BigInt(text) : undefined))
  if (one === undefined || other === undefined) return false
  return operator === 'Gt' ? one > other : one < other
}
