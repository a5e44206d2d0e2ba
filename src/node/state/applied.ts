import { orAborted } from '../../loop/deadline.ts'
import type { ObjectKey } from '../../model/api-object.ts'
import { PlatnetError } from '../../model/errors.ts'
import { type Ip, type IpFamily, ipFamily } from '../../model/ip.ts'
import { isResourceVersion } from '../../model/resource-version.ts'
import type { LocalPod } from './local-pods.ts'
import type { WatchedResource } from './node-state.ts'

type AppliedErrorCode = 'bad-resource-version' | 'unknown-plane' | 'plane-exists'

export class AppliedError extends PlatnetError<AppliedErrorCode> {}

/** The part of the state that AppliedRevisions reads. */
export interface ProgressSource {
  readonly revision: number
  readonly synced: boolean
  localPod(containerId: string): LocalPod | undefined
  contains(resource: WatchedResource, resourceVersion: string): boolean
  seen(resource: WatchedResource): string | undefined
  scopeOf(resource: WatchedResource, resourceVersion: string): ChangeScope
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

/** The families and the Services that a wait concerns. */
export interface ChangeScope {
  /** The families in which the object can be reached; none where that is unknown. */
  readonly families: ReadonlySet<IpFamily>
  /** Whether it has to do with a Service. */
  readonly concerns: (service: ObjectKey) => boolean
}

interface PlaneProgress {
  readonly family: IpFamily | undefined
  revision: number
  /** Applied but for these Services; undefined where it is no newer than `revision`. */
  partial: { readonly revision: number; readonly behind: ReadonlySet<ObjectKey> } | undefined
  isFailing: boolean
}

interface Waiter {
  /** Whether the present revision of the state holds what is waited for. */
  readonly isContained: () => boolean
  readonly resolve: () => void
  /** Asked when what is waited for is contained. */
  readonly scope: () => ChangeScope
  /** The local revision that holds what is waited for; unknown until it has been seen. */
  wanted: { readonly revision: number; readonly scope: ChangeScope } | undefined
}

/** A pod has to do with the Services of its namespace: selectors see no other. */
export function scopeOfPod(pod: ObjectKey, ips: readonly Ip[]): ChangeScope {
  const namespace = pod.slice(0, pod.indexOf('/') + 1)
  return { families: new Set(ips.map(ipFamily)), concerns: (service) => service.startsWith(namespace) }
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
    this.#planes.set(plane, { family, revision: 0, partial: undefined, isFailing: false })
  }

  /** The plane has applied everything up to this revision of the state, but for the Services that are `behind`; it never goes back. */
  publish(plane: string, revision: number, behind: ReadonlySet<ObjectKey> = new Set()): void {
    const progress = this.#progressOf(plane)
    if (behind.size === 0) progress.revision = Math.max(progress.revision, revision)
    progress.partial = behind.size === 0 ? undefined : { revision, behind }
    progress.isFailing = false
    this.#settle()
  }

  /** The plane cannot apply what it should and goes on trying; until it publishes again, no wait for the other family is for it. */
  fail(plane: string): void {
    this.#progressOf(plane).isFailing = true
    this.#settle()
  }

  /**
   * Whether every plane has applied this revision. A Service that is behind counts where the change has to do with it. A plane that fails does not count
   * where the plane of another of these families has it: what has addresses of both is reachable by one then, and what has none of the failing one does not need it.
   */
  isApplied(revision: number, { families, concerns }: ChangeScope): boolean {
    const planes = [...this.#planes.values()]
    const isServed = planes.some(({ family, isFailing }) => family !== undefined && families.has(family) && !isFailing)
    const isLeftOut = ({ family, isFailing }: PlaneProgress) => isFailing && family !== undefined && isServed
    const isAhead = ({ partial }: PlaneProgress) =>
      partial !== undefined && partial.revision >= revision && !partial.behind.values().some(concerns)
    return planes.every((plane) => plane.revision >= revision || isAhead(plane) || isLeftOut(plane))
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
    const scope = () => this.#state.scopeOf(resource, resourceVersion)
    await this.#wait(() => this.#state.contains(resource, resourceVersion), scope, signal)
  }

  /** Resolves when every plane has applied a revision that holds this announced pod. Rejects with the signal's reason. */
  async waitUntilPodApplied(containerId: string, { signal }: { signal: AbortSignal }): Promise<void> {
    const pod = () => this.#state.localPod(containerId)
    const scope = () => scopeOfPod(pod()?.key ?? '', pod()?.ips ?? [])
    await this.#wait(() => this.#state.synced && pod() !== undefined, scope, signal)
  }

  async #wait(isContained: () => boolean, scope: Waiter['scope'], signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiter: Waiter = { isContained, scope, resolve, wanted: undefined }
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
        waiter.wanted = { revision: this.#state.revision, scope: waiter.scope() }
      if (waiter.wanted && this.isApplied(waiter.wanted.revision, waiter.wanted.scope)) waiter.resolve()
    }
  }

  #forget(waiter: Waiter): void {
    this.#waiters.delete(waiter)
    if (this.#waiters.size > 0) return
    this.#unsubscribe?.()
    this.#unsubscribe = undefined
  }
}
