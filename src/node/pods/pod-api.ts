import { type ApiClient, ApiError, type ObjectRef } from '../../client/index.ts'
import type { PodSpec } from './pod-spec.ts'

/** What a node's agent writes about its pods. */
export interface PodApi {
  writeStatus(pod: PodSpec, status: Readonly<Record<string, unknown>>): Promise<void>
  /** The last step of a deletion; a pod that is gone, or another one of its name, is fine. */
  remove(pod: PodSpec): Promise<void>
}

export class HttpPodApi implements PodApi {
  readonly #client: ApiClient

  constructor(client: ApiClient) {
    this.#client = client
  }

  async writeStatus(pod: PodSpec, status: Readonly<Record<string, unknown>>): Promise<void> {
    const ref = { ...refOf(pod), subresource: 'status' }
    const patch = { metadata: { uid: pod.uid }, status }
    await unlessGone(this.#client.patch(ref, { kind: 'merge', patch }))
  }

  async remove(pod: PodSpec): Promise<void> {
    await unlessGone(this.#client.delete(refOf(pod), { uid: pod.uid, graceSeconds: 0 }))
  }
}

function refOf({ namespace, name }: PodSpec): ObjectRef {
  return { resource: { group: '', version: 'v1', resource: 'pods' }, namespace, name }
}

/** A conflict is another pod of that name: ours is gone. */
async function unlessGone(request: Promise<unknown>): Promise<void> {
  try {
    await request
  } catch (error) {
    if (!(error instanceof ApiError) || !['not-found', 'conflict'].includes(error.code)) throw error
  }
}
