import { type LabelRequirement, type LabelSelector, matchesLabels } from '../../model/selector.ts'
import type { Selector } from './parts.ts'

const operators = { In: 'in', NotIn: 'notin', Exists: 'exists', DoesNotExist: 'absent' } as const

/** `matchLabels` and `matchExpressions` as one list of requirements. */
export function requirementsOf({ matchLabels, matchExpressions }: Selector): LabelSelector {
  const equalities = Object.entries(matchLabels).map(
    ([key, value]): LabelRequirement => ({ key, operator: 'in', values: [value] }),
  )
  const expressions = matchExpressions.map(
    ({ key, operator, values }): LabelRequirement => ({ key, operator: operators[operator], values }),
  )
  return [...equalities, ...expressions]
}

/** An empty selector matches everything, as Kubernetes has it. */
export function selects(selector: Selector, labels: Readonly<Record<string, string>>): boolean {
  return matchesLabels(requirementsOf(selector), labels)
}
