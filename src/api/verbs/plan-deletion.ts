import { type ApiDocument, withMetadata } from '../document.ts'
import type { DeletionWish, PropagationPolicy } from '../request/request.ts'
import { markDeleted } from '../resources/metadata.ts'
import type { Resource } from '../resources/resource.ts'

/** The finalizers that keep an object until the garbage collector has carried out the propagation policy. */
const policyFinalizers = { Orphan: 'orphan', Foreground: 'foregroundDeletion' } as const

/**
 * Returns the object after a delete: marked while grace or finalizers keep it, undefined when it is deleted at once.
 */
export function planDeletion(
  resource: Resource,
  old: ApiDocument,
  { gracePeriodSeconds, propagationPolicy }: DeletionWish,
  now: Date,
): ApiDocument | undefined {
  const finalizers = finalizersFor(old, propagationPolicy ?? defaultPolicy(resource, old))
  const graceSeconds = resource.strategy.graceSeconds?.(old, gracePeriodSeconds) ?? 0
  const isHeld = resource.strategy.isHeld?.(old) === true
  if (finalizers.length === 0 && graceSeconds === 0 && !isHeld) return undefined
  const wanted = finalizers.length === 0 ? old : withMetadata(old, { finalizers })
  return isSooner(old, graceSeconds) ? markDeleted(wanted, graceSeconds, now) : wanted
}

/** Checks whether a later delete shortens the grace; it cannot prolong it. */
function isSooner({ metadata }: ApiDocument, graceSeconds: number): boolean {
  return metadata.deletionTimestamp === undefined || graceSeconds < (metadata.deletionGracePeriodSeconds ?? 0)
}

/** Returns the policy of a delete that names none; a finalizer of a policy on the object decides before the kind. */
function defaultPolicy({ strategy }: Resource, { metadata }: ApiDocument): PropagationPolicy | undefined {
  const isDecided = Object.values(policyFinalizers).some((each) => metadata.finalizers?.includes(each) === true)
  return strategy.orphansByDefault === true && !isDecided ? 'Orphan' : undefined
}

function finalizersFor({ metadata }: ApiDocument, policy: PropagationPolicy | undefined): readonly string[] {
  const present = metadata.finalizers ?? []
  if (policy === undefined) return present
  const ofPolicies: readonly string[] = Object.values(policyFinalizers)
  const own = present.filter((finalizer) => !ofPolicies.includes(finalizer))
  return policy === 'Background' ? own : [...own, policyFinalizers[policy]]
}
