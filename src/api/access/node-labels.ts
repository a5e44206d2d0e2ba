import type { NodeLabelRules } from '../../model/node-label-rules.ts'

type Labels = Readonly<Record<string, string>>

/** Returns the labels that differ between the two objects and that a node may not set, change or remove, sorted. */
export function forbiddenLabels(old: Labels, next: Labels, rules: NodeLabelRules): readonly string[] {
  const keys = new Set([...Object.keys(old), ...Object.keys(next)])
  const changed = [...keys].filter((key) => labelAt(old, key) !== labelAt(next, key))
  return changed.filter((key) => !isNodeLabel(key, rules)).toSorted()
}

function labelAt(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined
}

function isNodeLabel(key: string, rules: NodeLabelRules): boolean {
  const domain = key.includes('/') ? key.slice(0, key.indexOf('/')) : ''
  const isIn = (domains: readonly string[]) => domains.some((one) => domain === one || domain.endsWith(`.${one}`))
  if (isIn(rules.isolationDomains)) return false
  return !isIn(rules.reservedDomains) || rules.ownKeys.includes(key) || isIn(rules.ownDomains)
}
