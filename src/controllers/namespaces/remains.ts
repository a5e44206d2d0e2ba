import { withCondition } from '../objects/conditions.ts'
import type { Condition } from '../objects/parts.ts'

/** The objects of one resource that are left in a namespace under deletion. */
export interface Remainder {
  /** The resource as `pods.` or `widgets.example.com`. */
  readonly resource: string
  readonly count: number
  /** The number of objects that each finalizer keeps. */
  readonly finalizers: ReadonlyMap<string, number>
}

export interface DeletionState {
  readonly remainders: readonly Remainder[]
  /** The reason why discovery failed for some resources. */
  readonly discoveryError: string | undefined
  /** The reason why some objects could not be deleted. */
  readonly contentError: string | undefined
}

interface DeletionCondition {
  readonly type: string
  /** Reason and message while nothing is wrong. */
  readonly good: string
  readonly fine: string
  /** Reason otherwise, and what tells whether it is so: the message, or undefined. */
  readonly bad: string
  readonly problem: (state: DeletionState) => string | undefined
}

/** The conditions of a namespace that is being deleted, in the reasons and messages of Kubernetes. */
const deletionTypes: readonly DeletionCondition[] = [
  {
    type: 'NamespaceDeletionDiscoveryFailure',
    good: 'ResourcesDiscovered',
    fine: 'All resources successfully discovered',
    bad: 'DiscoveryFailed',
    problem: ({ discoveryError }) => discoveryError,
  },
  {
    type: 'NamespaceDeletionGroupVersionParsingFailure',
    good: 'ParsedGroupVersions',
    fine: 'All legacy kube types successfully parsed',
    bad: 'GroupVersionParsingFailed',
    problem: () => undefined,
  },
  {
    type: 'NamespaceDeletionContentFailure',
    good: 'ContentDeleted',
    fine: 'All content successfully deleted, may be waiting on finalization',
    bad: 'ContentDeletionFailed',
    problem: ({ contentError }) => contentError,
  },
  {
    type: 'NamespaceContentRemaining',
    good: 'ContentRemoved',
    fine: 'All content successfully removed',
    bad: 'SomeResourcesRemain',
    problem: describeRemaining,
  },
  {
    type: 'NamespaceFinalizersRemaining',
    good: 'ContentHasNoFinalizers',
    fine: 'All content-preserving finalizers finished',
    bad: 'SomeFinalizersRemain',
    problem: describeFinalizers,
  },
]

/** Returns the conditions that explain why a namespace still exists, in the reasons of Kubernetes. */
export function deletionConditions(
  conditions: readonly Condition[],
  state: DeletionState,
  nowMs: number,
): readonly Condition[] {
  return deletionTypes.reduce<readonly Condition[]>((list, { type, good, fine, bad, problem }) => {
    const message = problem(state)
    const status = message === undefined ? 'False' : 'True'
    const reason = message === undefined ? good : bad
    return withCondition(list, { type, status, reason, message: message ?? fine }, nowMs)
  }, conditions)
}

function describeRemaining({ remainders }: DeletionState): string | undefined {
  const left = remainders.filter(({ count }) => count > 0)
  const counts = left.map(({ resource, count }) => `${resource} has ${count} resource instances`).sort()
  return counts.length === 0 ? undefined : `Some resources are remaining: ${counts.join(', ')}`
}

function describeFinalizers({ remainders }: DeletionState): string | undefined {
  const total = new Map<string, number>()
  const left = remainders.filter(({ count }) => count > 0)
  for (const [name, count] of left.flatMap(({ finalizers }) => [...finalizers])) {
    total.set(name, (total.get(name) ?? 0) + count)
  }
  const counts = [...total].map(([name, count]) => `${name} in ${count} resource instances`).sort()
  return counts.length === 0
    ? undefined
    : `Some content in the namespace has finalizers remaining: ${counts.join(', ')}`
}
