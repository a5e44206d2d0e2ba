import { type ApiDocument, withMetadata } from '../../document.ts'

/**
 * Implements the admission plugin StorageObjectInUseProtection: a new object gets the finalizer that keeps it while it
 * is in use. A controller takes the finalizer away.
 */
export function withFinalizer(document: ApiDocument, finalizer: string): ApiDocument {
  const finalizers = document.metadata.finalizers ?? []
  return finalizers.includes(finalizer) ? document : withMetadata(document, { finalizers: [...finalizers, finalizer] })
}
