import { orAborted } from '../../loop/deadline.ts'
import { PlatnetError } from '../../model/errors.ts'
import { isResourceVersion } from '../../model/resource-version.ts'
import type { LocalPod } from './local-pods.ts'
import type { WatchedResource } from './node-state.ts'

type AppliedErrorCode = 'bad-resource-version' | 'unknown-plane' | 'plane-exists'

export class AppliedError extends PlatnetError<AppliedErrorCode> {}

/** What AppliedRevisions asks of the state. */
export interface ProgressSource {
  readonly revision: number
  readonly synced: boolean
  localPod(containerId: string): LocalPod | undefined
  contains(resource: WatchedResource, resourceVersion: string): boolean
  seen(resource: WatchedResource): string | undefined
  onProgress(listener: () => void): () => void
}

interface AppliedReport {
  /** The state's own revision: a plane that shows the same has nothing left to do. */
  readonly revision: number
  readonly planes: Readonly<Record<string, number>>
  readonly seen: Readonly<Record<WatchedResource, string | undefined>>
}

interface Waiter {
  /** Whether the present revision of the state holds what is waited for. */
  readonly isContained: () => boolean
  readonly resolve: () => void
  /** The local revision that holds what is waited for; unknown until it has been seen. */
  revision: number | undefined
}

/** Where the planes meet after the state: each publishes the revision whose rules are in the kernel, and others wait for it. */
export class AppliedRevisions {
  readonly #state: ProgressSource
  readonly #planes = new Map<string, number>()
  readonly #waiters = new Set<Waiter>()
  #unsubscribe: (() => void) | undefined

  constructor(state: ProgressSource) {
    this.#state = state
  }

  /** From now on every wait is also for this plane, which has applied nothing yet. */
  register(plane: string): void {
    if (this.#planes.has(plane)) throw new AppliedError('plane-exists', `the plane ${plane} is registered twice`)
    this.#planes.set(plane, 0)
  }

  /** The plane has applied everything up to this revision of the state; it never goes back. */
  publish(plane: string, revision: number): void {
    const before = this.#planes.get(plane)
    if (before === undefined) throw new AppliedError('unknown-plane', `the plane ${plane} is not registered`)
    this.#planes.set(plane, Math.max(before, revision))
    this.#settle()
  }

  /**
   * Resolves when this node has seen the change that `resourceVersion` stands for and every plane has applied it. Rejects
   * with the signal's reason.
   */
  async waitUntilApplied(
    resource: WatchedResource,
    resourceVersion: string,
    { signal }: { signal: AbortSignal },
  ): Promise<void> {
    if (!isResourceVersion(resourceVersion)) {
      throw new AppliedError(
        'bad-resource-version',
        `expected a decimal resourceVersion, found ${JSON.stringify(resourceVersion)}`,
      )
    }
    await this.#wait(() => this.#state.contains(resource, resourceVersion), signal)
  }

  /** Resolves when every plane has applied a revision that holds this announced pod. Rejects with the signal's reason. */
  async waitUntilPodApplied(containerId: string, { signal }: { signal: AbortSignal }): Promise<void> {
    await this.#wait(() => this.#state.synced && this.#state.localPod(containerId) !== undefined, signal)
  }

  async #wait(isContained: () => boolean, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiter: Waiter = { isContained, resolve, revision: undefined }
    this.#waiters.add(waiter)
    this.#unsubscribe ??= this.#state.onProgress(() => this.#settle())
    this.#settle()
    try {
      await orAborted(promise, signal)
    } finally {
      this.#forget(waiter)
    }
  }

  report(): AppliedReport {
    const seen = (resource: WatchedResource) => this.#state.seen(resource)
    return {
      revision: this.#state.revision,
      planes: Object.fromEntries(this.#planes),
      seen: { services: seen('services'), endpointslices: seen('endpointslices'), endpoints: seen('endpoints') },
    }
  }

  #settle(): void {
    for (const waiter of this.#waiters) {
      if (waiter.revision === undefined && waiter.isContained()) waiter.revision = this.#state.revision
      if (waiter.revision !== undefined && this.#appliedBy(waiter.revision)) waiter.resolve()
    }
  }

  #appliedBy(revision: number): boolean {
    return this.#planes.values().every((applied) => applied >= revision)
  }

  #forget(waiter: Waiter): void {
    this.#waiters.delete(waiter)
    if (this.#waiters.size > 0) return
    this.#unsubscribe?.()
    this.#unsubscribe = undefined
  }
}
