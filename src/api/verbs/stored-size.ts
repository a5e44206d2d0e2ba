import { type ApiDocument, without } from '../document.ts'
import type { Resource } from '../resources/resource.ts'
import { toStoredText } from '../resources/stored-text.ts'
import { forbidden, StatusError } from '../status.ts'
import { type Store, storedLength } from '../store/index.ts'
import type { Change } from './change.ts'

/**
 * The size beyond the limit that an object under deletion may have: its deletion marks it, and its controllers remove
 * finalizers.
 */
const deletionBytes = 64 * 1024

export interface StoredForm {
  readonly document: ApiDocument
  /** The stored text. */
  readonly text: string
}

/**
 * Returns the document to store, or throws a 413 where it exceeds the limit. If only its managed fields are too large,
 * they are removed, as in Kubernetes. An object that exceeded the limit before (under a higher limit) may change as
 * long as it does not grow.
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
 * Refuses growth of a namespace that would hold more than the remaining free space: one namespace gets half of the
 * space, two get a third each. Objects that shrink or are being deleted are accepted, and so are those of kube-system
 * and of cluster scope.
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
