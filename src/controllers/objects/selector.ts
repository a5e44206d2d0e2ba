import { type LabelRequirement, type LabelSelector, matchesLabels } from '../../model/selector.ts'
import type { Selector } from './parts.ts'

const operators = { In: 'in', NotIn: 'notin', Exists: 'exists', DoesNotExist: 'absent' } as const

const requirements = new WeakMap<Selector, LabelSelector>()

/**
 * Returns `matchLabels` and `matchExpressions` as one list of requirements. Results are cached per selector, because
 * one selector is matched against many objects.
 */
export function requirementsOf(selector: Selector): LabelSelector {
  const known = requirements.get(selector)
  if (known !== undefined) return known
  const { matchLabels, matchExpressions } = selector
  const equalities = Object.entries(matchLabels).map(
    ([key, value]): LabelRequirement => ({ key, operator: 'in', values: [value] }),
  )
  const expressions = matchExpressions.map(
    ({ key, operator, values }): LabelRequirement => ({ key, operator: operators[operator], values }),
  )
  const made = [...equalities, ...expressions]
  requirements.set(selector, made)
  return made
}

/** Checks whether the selector matches the labels. An empty selector matches everything, as in Kubernetes. */
export function selects(selector: Selector, labels: Readonly<Record<string, string>>): boolean {
  return matchesLabels(requirementsOf(selector), labels)
}
