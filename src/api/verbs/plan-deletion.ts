import { type ApiDocument, withMetadata } from '../document.ts'
import type { DeletionWish, PropagationPolicy } from '../request/request.ts'
import { markDeleted } from '../resources/metadata.ts'
import type { Resource } from '../resources/resource.ts'

/** Each keeps the object until the garbage collector has done what the policy says. */
const policyFinalizers = { Orphan: 'orphan', Foreground: 'foregroundDeletion' } as const

/** The object as a delete leaves it: marked while grace or finalizers keep it, undefined when it goes at once. */
export function planDeletion(
  resource: Resource,
  old: ApiDocument,
  { gracePeriodSeconds, propagationPolicy }: DeletionWish,
  now: Date,
): ApiDocument | undefined {
  const finalizers = finalizersFor(old, propagationPolicy)
  const graceSeconds = resource.strategy.graceSeconds?.(old, gracePeriodSeconds) ?? 0
  const isHeld = resource.strategy.isHeld?.(old) === true
  if (finalizers.length === 0 && graceSeconds === 0 && !isHeld) return undefined
  const wanted = finalizers.length === 0 ? old : withMetadata(old, { finalizers })
  return isSooner(old, graceSeconds) ? markDeleted(wanted, graceSeconds, now) : wanted
}

/** A later delete may shorten the grace, never prolong it. */
function isSooner({ metadata }: ApiDocument, graceSeconds: number): boolean {
  return metadata.deletionTimestamp === undefined || graceSeconds < (metadata.deletionGracePeriodSeconds ?? 0)
}

function finalizersFor({ metadata }: ApiDocument, policy: PropagationPolicy | undefined): readonly string[] {
  const present = metadata.finalizers ?? []
  if (policy === undefined) return present
  const ofPolicies: readonly string[] = Object.values(policyFinalizers)
  const own = present.filter((finalizer) => !ofPolicies.includes(finalizer))
  return policy === 'Background' ? own : [...own, policyFinalizers[policy]]
}
