import type { Json, JsonObject } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { type ApiDocument, listAt, objectAt, textAt } from '../document.ts'

const noExecute = 'NoExecute'
const tolerationSeconds = 300

/**
 * Implements the admission plugin DefaultTolerationSeconds: a Pod that says nothing about nodes that are not ready or not reached stays on one for
 * five minutes. Kubernetes' own taint controller evicts a Pod without a toleration at once.
 */
export function withDefaultTolerations(pod: ApiDocument, { taints }: Dialect): ApiDocument {
  const own = listAt(pod, 'spec', 'tolerations')
  const missing = [taints.notReady, taints.unreachable].filter((key) => !own.some((each) => concerns(each, key)))
  if (missing.length === 0) return pod
  const added = missing.map((key): JsonObject => ({ key, operator: 'Exists', effect: noExecute, tolerationSeconds }))
  return { ...pod, spec: { ...objectAt(pod, 'spec'), tolerations: [...own, ...added] } }
}

function concerns(toleration: Json, taint: string): boolean {
  return ['', taint].includes(textAt(toleration, 'key')) && ['', noExecute].includes(textAt(toleration, 'effect'))
}
