import { withCondition } from '../objects/conditions.ts'
import type { Condition } from '../objects/parts.ts'

/** What is left of one resource in a namespace that is being deleted. */
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

/** Returns the conditions that explain why a namespace still exists, in the reasons of Kubernetes. */
export function deletionConditions(
  conditions: readonly Condition[],
  { remainders, discoveryError, contentError }: DeletionState,
  nowMs: number,
): readonly Condition[] {
  const left = remainders.filter(({ count }) => count > 0)
  const finalizers = new Map<string, number>()
  for (const [name, count] of left.flatMap((each) => [...each.finalizers])) {
    finalizers.set(name, (finalizers.get(name) ?? 0) + count)
  }
  const remaining = left.map(({ resource, count }) => `${resource} has ${count} resource instances`).sort()
  const keeping = [...finalizers].map(([name, count]) => `${name} in ${count} resource instances`).sort()
  const trouble = (type: string, words: { bad: string; good: string; fine: string }, message: string | undefined) =>
    ({
      type,
      status: message === undefined ? 'False' : 'True',
      reason: message === undefined ? words.good : words.bad,
      message: message ?? words.fine,
    }) as const
  const changes = [
    trouble(
      'NamespaceDeletionDiscoveryFailure',
      { bad: 'DiscoveryFailed', good: 'ResourcesDiscovered', fine: 'All resources successfully discovered' },
      discoveryError,
    ),
    trouble(
      'NamespaceDeletionGroupVersionParsingFailure',
      {
        bad: 'GroupVersionParsingFailed',
        good: 'ParsedGroupVersions',
        fine: 'All legacy kube types successfully parsed',
      },
      undefined,
    ),
    trouble(
      'NamespaceDeletionContentFailure',
      {
        bad: 'ContentDeletionFailed',
        good: 'ContentDeleted',
        fine: 'All content successfully deleted, may be waiting on finalization',
      },
      contentError,
    ),
    trouble(
      'NamespaceContentRemaining',
      { bad: 'SomeResourcesRemain', good: 'ContentRemoved', fine: 'All content successfully removed' },
      remaining.length === 0 ? undefined : `Some resources are remaining: ${remaining.join(', ')}`,
    ),
    trouble(
      'NamespaceFinalizersRemaining',
      {
        bad: 'SomeFinalizersRemain',
        good: 'ContentHasNoFinalizers',
        fine: 'All content-preserving finalizers finished',
      },
      keeping.length === 0
        ? undefined
        : `Some content in the namespace has finalizers remaining: ${keeping.join(', ')}`,
    ),
  ]
  return changes.reduce<readonly Condition[]>((list, change) => withCondition(list, change, nowMs), conditions)
}
