import { orAborted } from '../../loop/deadline.ts'
import { PlatnetError } from '../../model/errors.ts'
import { type IpFamily, ipFamily } from '../../model/ip.ts'
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
  familiesOf(resource: WatchedResource, resourceVersion: string): ReadonlySet<IpFamily>
  onProgress(listener: () => void): () => void
}

interface AppliedReport {
  /** The state's own revision: a plane that shows the same has nothing left to do. */
  readonly revision: number
  readonly planes: Readonly<Record<string, number>>
  /** Planes that try again and again; others are not kept waiting by them where these serve what is waited for. */
  readonly failing: readonly string[]
  readonly seen: Readonly<Record<WatchedResource, string | undefined>>
}

interface PlaneProgress {
  readonly family: IpFamily | undefined
  revision: number
  isFailing: boolean
}

interface Waiter {
  /** Whether the present revision of the state holds what is waited for. */
  readonly isContained: () => boolean
  readonly resolve: () => void
  /** By which families what is waited for can be reached, asked when it is contained; none where that is unknown. */
  readonly families: () => ReadonlySet<IpFamily>
  /** The local revision that holds what is waited for, and its families; unknown until it has been seen. */
  wanted: { readonly revision: number; readonly families: ReadonlySet<IpFamily> } | undefined
}

/** Where the planes meet after the state: each publishes the revision whose rules are in the kernel, and others wait for it. */
export class AppliedRevisions {
  readonly #state: ProgressSource
  readonly #planes = new Map<string, PlaneProgress>()
  readonly #waiters = new Set<Waiter>()
  #unsubscribe: (() => void) | undefined

  constructor(state: ProgressSource) {
    this.#state = state
  }

  /** From now on every wait is also for this plane, which has applied nothing yet. `family`: it serves that one, and another plane the other. */
  register(plane: string, family?: IpFamily): void {
    if (this.#planes.has(plane)) throw new AppliedError('plane-exists', `the plane ${plane} is registered twice`)
    this.#planes.set(plane, { family, revision: 0, isFailing: false })
  }

  /** The plane has applied everything up to this revision of the state; it never goes back. */
  publish(plane: string, revision: number): void {
    const progress = this.#progressOf(plane)
    progress.revision = Math.max(progress.revision, revision)
    progress.isFailing = false
    this.#settle()
  }

  /** The plane cannot apply what it should and goes on trying; until it publishes again, no wait for the other family is for it. */
  fail(plane: string): void {
    this.#progressOf(plane).isFailing = true
    this.#settle()
  }

  /**
   * Whether every plane has applied this revision. One that fails does not count where the plane of another of these families
   * has it: what has addresses of both is reachable by one then, and what has none of the failing one does not need it.
   */
  isApplied(revision: number, families: ReadonlySet<IpFamily>): boolean {
    const planes = [...this.#planes.values()]
    const isServed = planes.some(({ family, isFailing }) => family !== undefined && families.has(family) && !isFailing)
    const isLeftOut = ({ family, isFailing }: PlaneProgress) => isFailing && family !== undefined && isServed
    return planes.every((plane) => plane.revision >= revision || isLeftOut(plane))
  }

  #progressOf(plane: string): PlaneProgress {
    const progress = this.#planes.get(plane)
    if (progress === undefined) throw new AppliedError('unknown-plane', `the plane ${plane} is not registered`)
    return progress
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
    const families = () => this.#state.familiesOf(resource, resourceVersion)
    await this.#wait(() => this.#state.contains(resource, resourceVersion), families, signal)
  }

  /** Resolves when every plane has applied a revision that holds this announced pod. Rejects with the signal's reason. */
  async waitUntilPodApplied(containerId: string, { signal }: { signal: AbortSignal }): Promise<void> {
    const families = () => new Set(this.#state.localPod(containerId)?.ips.map(ipFamily))
    await this.#wait(() => this.#state.synced && this.#state.localPod(containerId) !== undefined, families, signal)
  }

  async #wait(isContained: () => boolean, families: Waiter['families'], signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiter: Waiter = { isContained, families, resolve, wanted: undefined }
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
      planes: Object.fromEntries(Array.from(this.#planes, ([name, { revision }]) => [name, revision])),
      failing: [...this.#planes.keys()].filter((name) => this.#planes.get(name)?.isFailing),
      seen: { services: seen('services'), endpointslices: seen('endpointslices'), endpoints: seen('endpoints') },
    }
  }

  #settle(): void {
    for (const waiter of this.#waiters) {
      if (waiter.wanted === undefined && waiter.isContained())
        waiter.wanted = { revision: this.#state.revision, families: waiter.families() }
      if (waiter.wanted && this.isApplied(waiter.wanted.revision, waiter.wanted.families)) waiter.resolve()
    }
  }

  #forget(waiter: Waiter): void {
    this.#waiters.delete(waiter)
    if (this.#waiters.size > 0) return
    this.#unsubscribe?.()
    this.#unsubscribe = undefined
  }
}
