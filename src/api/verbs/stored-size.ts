import { type ApiDocument, without } from '../document.ts'
import type { Resource } from '../resources/resource.ts'
import { toStoredText } from '../resources/stored-text.ts'
import { forbidden, StatusError } from '../status.ts'
import { type Store, storedLength } from '../store/index.ts'
import type { Change } from './change.ts'

/** What an object that is being deleted may have beyond the limit: its deletion marks it, and its controllers take finalizers away. */
const deletionBytes = 64 * 1024

export interface StoredForm {
  readonly document: ApiDocument
  /** The text in the store. */
  readonly text: string
}

/**
 * The document as it is stored, or a 413 where that is larger than the limit. One that is too large only by its managed fields loses these, as in
 * Kubernetes. One that was too large before (under a higher limit) may change as long as it does not grow.
 */
export function fitStored(
  resource: Resource,
  next: ApiDocument,
  old: ApiDocument | undefined,
  maxBytes: number,
): StoredForm {
  const text = toStoredText(resource, next)
  const limitBytes = maxBytes + (next.metadata.deletionTimestamp === undefined ? 0 : deletionBytes)
  if (isWithin(text, limitBytes)) return { document: next, text }
  if (next.metadata['managedFields'] !== undefined) return fitStored(resource, withoutManaged(next), old, maxBytes)
  const bytes = Buffer.byteLength(text)
  const bytesBefore = old === undefined ? 0 : Buffer.byteLength(toStoredText(resource, withoutManaged(old)))
  if (bytes <= bytesBefore) return { document: next, text }
  const message = `Request entity too large: the object has ${bytes} bytes as it would be stored, limit is ${limitBytes}`
  throw new StatusError('RequestEntityTooLarge', message)
}

function withoutManaged(document: ApiDocument): ApiDocument {
  return { ...document, metadata: without(document.metadata, 'managedFields') }
}

/** Checks the size by the length first: no character has more than three bytes, so that suffices for most texts. */
function isWithin(text: string, maxBytes: number): boolean {
  return text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes
}

/**
 * Refuses growth of a namespace that would hold more than what is left of the whole: one namespace gets half of it, two get a third each. What shrinks or is
 * being deleted is not refused, nor what is kube-system's or no namespace's.
 */
export function assertRoom(
  { lengths }: Pick<Store, 'lengths'>,
  { target, name, old }: Pick<Change, 'target' | 'name' | 'old'>,
  { document, text }: StoredForm,
  maxStoreBytes: number,
): void {
  const { resource, namespace } = target
  if (namespace === undefined || namespace === 'kube-system' || document.metadata.deletionTimestamp !== undefined)
    return
  const held = lengths.ofNamespace(namespace)
  const left = maxStoreBytes - lengths.total
  if (held + storedLength(text) <= left) return
  const growth = storedLength(text) - (old === undefined ? 0 : storedLength(toStoredText(resource, old)))
  if (growth <= 0 || held + growth <= left) return
  const why = `exceeded quota: namespace ${namespace} holds ${held} bytes of the ${maxStoreBytes} that the server stores, ${Math.max(0, left)} are left`
  throw forbidden(resource, name, why)
}
