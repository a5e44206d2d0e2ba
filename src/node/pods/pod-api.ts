import { type ApiClient, ApiError, type ObjectRef } from '../../client/index.ts'
import type { PodSpec } from './pod-spec.ts'

/** The writes of a node's agent about its pods. */
export interface PodApi {
  writeStatus(pod: PodSpec, status: Readonly<Record<string, unknown>>): Promise<void>
  /** Completes the deletion of a pod. Does nothing if the pod is gone or its name belongs to another pod now. */
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

/** Ignores that the pod is gone; a conflict means that another pod has its name. */
async function unlessGone(request: Promise<unknown>): Promise<void> {
  try {
    await request
  } catch (error) {
    if (!(error instanceof ApiError) || !['not-found', 'conflict'].includes(error.code)) throw error
  }
}
