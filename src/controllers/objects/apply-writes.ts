import { type ApiClient, ApiError } from '../../client/index.ts'
import type { ApiObject } from '../../model/api-object.ts'
import { isInLeavingNamespace } from '../runtime/leaving-namespace.ts'
import type { ResourceName, Write } from './writes.ts'

/** The dependencies by which planned writes are sent to the API server. */
export interface WriteTarget {
  readonly client: ApiClient
  /**
   * Puts the server's response into the cache, so that the next plan sees it; ignores resources that are not cached.
   */
  readonly note: (resource: ResourceName, written: ApiObject) => void
  /** Receives each write that changed an object, and each write that failed. */
  readonly onOutcome?: (write: Write, outcome: WriteOutcome) => void
}

/** The result of a write: the object as the server stored it (undefined after a deletion), or the error. */
export type WriteOutcome =
  | { readonly kind: 'done'; readonly answer: ApiObject | undefined }
  | { readonly kind: 'failed'; readonly error: unknown }

const largestBatch = 32

/**
 * Sends the writes in their order. Consecutive writes of the same verb are sent together in batches of 1, 2, 4 … 32, so
 * that a rejection costs one request and not a thousand. A deletion of an object that does not exist succeeds. A
 * rejected create in a namespace that is being deleted is ignored. Throws the first other ApiError.
 */
export async function applyWrites(target: WriteTarget, writes: readonly Write[], signal: AbortSignal): Promise<void> {
  let size = 1
  for (let start = 0; start < writes.length; ) {
    const verb = writes[start]?.verb
    const sameVerb = writes.slice(start, start + size).findIndex((write) => write.verb !== verb)
    const batch = writes.slice(start, start + (sameVerb < 0 ? size : sameVerb))
    await Promise.all(batch.map((write) => applyWrite(target, write, signal)))
    start += batch.length
    size = sameVerb < 0 ? Math.min(size * 2, largestBatch) : 1
  }
}

async function applyWrite(target: WriteTarget, write: Write, signal: AbortSignal): Promise<void> {
  try {
    const { resource, answer } = await send(target.client, write, signal)
    if (answer !== undefined) target.note(resource, answer)
    target.onOutcome?.(write, { kind: 'done', answer })
  } catch (error) {
    if (isSettled(write, error)) return
    target.onOutcome?.(write, { kind: 'failed', error })
    throw error
  }
}

async function send(client: ApiClient, write: Write, signal: AbortSignal) {
  switch (write.verb) {
    case 'create': {
      const { resource, object } = write
      const { namespace } = object.metadata
      const collection = namespace === undefined ? { resource } : { resource, namespace }
      return { resource, answer: await client.create(collection, object, { signal }) }
    }
    case 'patch': {
      const { target, patch, subresource } = write
      const ref = subresource === undefined ? target : { ...target, subresource }
      return { resource: target.resource, answer: await client.patch(ref, { kind: 'merge', patch }, { signal }) }
    }
    case 'delete': {
      const { target, uid, propagation, graceSeconds } = write
      await client.delete(target, { signal, uid, graceSeconds, ...(propagation && { propagation }) })
      return { resource: target.resource, answer: undefined }
    }
  }
}

/** Checks whether the write needs no retry: the API already has the wanted state, or can never reach it. */
function isSettled(write: Write, error: unknown): boolean {
  if (!(error instanceof ApiError)) return false
  if (error.code === 'not-found') return write.verb !== 'create'
  return write.verb === 'create' && isInLeavingNamespace(error)
}
