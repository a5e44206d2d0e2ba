import { childOf, type FieldSet, fieldSet, withoutSteps } from './field-set.ts'

const identitySteps: ReadonlySet<string> = new Set(['f:apiVersion', 'f:kind'])
const systemSteps: ReadonlySet<string> = new Set([
  'f:name',
  'f:namespace',
  'f:creationTimestamp',
  'f:selfLink',
  'f:uid',
  'f:generation',
  'f:managedFields',
  'f:resourceVersion',
])

/**
 * The top-level fields that a request writes: all but `status` on the main resource; `status` on its subresource, with metadata for most
 * built-in kinds.
 */
export type WrittenPart = 'all' | 'all-but-status' | 'metadata-and-status' | 'status'

/** Returns a set without the fields that have no owner: identity, system metadata, and the parts that the request does not write. */
export function ownableFields(set: FieldSet, part: WrittenPart): FieldSet {
  const written = withoutSteps(set, (step) => !isOwnable(part, step))
  const metadata = withoutSteps(childOf(written, 'f:metadata'), (step) => !isOwnableMetadata(step))
  const children = new Map(written.children).set('f:metadata', { ...metadata, isMember: false })
  return fieldSet(false, children)
}

/** Checks whether a request to this part owns the top-level field of a step. */
export function isOwnable(part: WrittenPart, step: string): boolean {
  return !identitySteps.has(step) && isWritten(part, step)
}

/** Checks whether the field of `metadata` has an owner: the server sets the others. */
export function isOwnableMetadata(step: string): boolean {
  return !systemSteps.has(step)
}

function isWritten(part: WrittenPart, step: string): boolean {
  if (part === 'all') return true
  if (part === 'metadata-and-status' && step === 'f:metadata') return true
  return (step === 'f:status') === (part !== 'all-but-status')
}
