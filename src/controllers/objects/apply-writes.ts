import { type ApiClient, ApiError } from '../../client/index.ts'
import type { ApiObject } from '../../model/api-object.ts'
import type { ResourceName, Write } from './writes.ts'

/** Carries out what plans ask for. */
export interface WriteTarget {
  readonly client: ApiClient
  /** Takes the server's answer, so that the next plan sees it; nothing for resources that are not cached. */
  readonly note: (resource: ResourceName, written: ApiObject) => void
  /** Hears of each write that changed something and of each that failed. */
  readonly tell?: (write: Write, outcome: WriteOutcome) => void
}

/** The object as the server has it now (none of one that was deleted), or why it would not. */
export type WriteOutcome =
  | { readonly kind: 'done'; readonly answer: ApiObject | undefined }
  | { readonly kind: 'failed'; readonly error: unknown }

const largestBatch = 32

/**
 * In the order given; writes of the same verb in a row go out together in batches of 1, 2, 4 … 32, so that a refusal costs one request and not a thousand. What is
 * gone already counts as deleted, a namespace on its way out takes no creates. Throws the first other ApiError.
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
    target.tell?.(write, { kind: 'done', answer })
  } catch (error) {
    if (isSettled(write, error)) return
    target.tell?.(write, { kind: 'failed', error })
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

/** Whether the world is as the write wanted it, or never will be. */
function isSettled(write: Write, error: unknown): boolean {
  if (!(error instanceof ApiError)) return false
  if (error.code === 'not-found') return write.verb !== 'create'
  return write.verb === 'create' && error.causes.some(({ reason }) => reason === 'NamespaceTerminating')
}
