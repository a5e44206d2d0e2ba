import type { Json, JsonObject } from '../../model/api-object.ts'
import { type ApiDocument, objectAt, textAt } from '../document.ts'
import { fields, nonNegative } from '../schema/checks.ts'
import { type FieldError, invalidField } from '../schema/field-error.ts'
import type { WorkloadKind } from './workload-rules.ts'

interface StatusRules {
  /** The counts that must not exceed `replicas`. */
  readonly parts: readonly string[]
  readonly others: readonly string[]
  /** The name of `readyReplicas` in errors; available replicas must not exceed it. */
  readonly ready?: string
}

const setCounts = ['currentNumberScheduled', 'numberMisscheduled', 'desiredNumberScheduled', 'numberReady']
const setParts = ['updatedNumberScheduled', 'numberAvailable', 'numberUnavailable']
const collisions = 'collisionCount'

const rules: Readonly<Record<WorkloadKind, StatusRules>> = {
  Deployment: {
    parts: ['updatedReplicas', 'readyReplicas', 'availableReplicas'],
    others: ['replicas', 'unavailableReplicas', 'terminatingReplicas', collisions],
    ready: 'readyReplicas',
  },
  ReplicaSet: {
    parts: ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'],
    others: ['replicas', 'terminatingReplicas'],
    ready: 'readyReplicas',
  },
  StatefulSet: {
    parts: ['readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'],
    others: ['replicas', collisions],
    ready: 'status.readyReplicas',
  },
  DaemonSet: { parts: [], others: [...setCounts, ...setParts, collisions] },
}

/** Returns the errors in the counts that a controller wrote. */
export function validateWorkloadStatus(kind: WorkloadKind, next: ApiDocument, old: ApiDocument): readonly FieldError[] {
  const { parts, others, ready } = rules[kind]
  const status = objectAt(next['status'])
  const counts = [...others, ...parts, 'observedGeneration']
  return [
    ...fields(Object.fromEntries(counts.map((name) => [name, nonNegative])))(status, 'status'),
    ...parts.flatMap((name) => checkPart(status, name, 'replicas', 'status.replicas')),
    ...(ready === undefined ? [] : checkPart(status, 'availableReplicas', 'readyReplicas', ready)),
    ...(others.includes(collisions) ? checkCollisions(status, objectAt(old['status'])) : []),
  ]
}

function checkPart(status: JsonObject, part: string, whole: string, named: string): readonly FieldError[] {
  const value = status[part]
  if (countOf(value) <= countOf(status[whole])) return []
  return [invalidField(`status.${part}`, value, `cannot be greater than ${named}`)]
}

/** Checks that the collision count does not decrease: a template hash must not be used again. */
function checkCollisions(status: JsonObject, old: JsonObject): readonly FieldError[] {
  const count = countOf(status[collisions])
  return old[collisions] === undefined || count >= countOf(old[collisions])
    ? []
    : [invalidField(`status.${collisions}`, count, 'cannot be decremented')]
}

function countOf(value: Json | undefined): number {
  return Number(textAt(value) || 0)
}
