import { isDeepStrictEqual } from 'node:util'
import type { Stages } from '../../loop/time-slice.ts'
import type { ObjectKey } from '../../model/api-object.ts'
import type { Backend } from '../../model/routing-table.ts'
import { resolveBackend, type ServiceSource, type WantedBackend } from './plan-backends.ts'
import type { Claim } from './plan-claims.ts'
import type { ProblemsByIngress } from './plan-problems.ts'

interface UsedBackend {
  readonly wanted: WantedBackend
  /** How many routes of each Ingress use it. */
  readonly users: Map<ObjectKey, number>
  backend: Backend | undefined
}

/** Keeps the backends that routes use; a Service that changes has its own backends resolved again. */
export class PlannedBackends {
  readonly #source: ServiceSource
  readonly #h2cProtocols: readonly string[]
  readonly #used = new Map<string, UsedBackend>()
  readonly #byService = new Map<ObjectKey, Set<string>>()
  readonly #toResolve = new Set<string>()
  /** Backends whose users differ. */
  readonly #toReport = new Set<string>()

  constructor(source: ServiceSource, h2cProtocols: readonly string[]) {
    this.#source = source
    this.#h2cProtocols = h2cProtocols
  }

  touchServices(services: Iterable<ObjectKey>): void {
    for (const service of services) for (const id of this.#byService.get(service) ?? []) this.#toResolve.add(id)
  }

  /** Takes the claims that are served. The new ones come before the old ones go, so that a backend that stays in use stays as it is. */
  replaceServed(before: readonly Claim[], after: readonly Claim[]): void {
    for (const claim of after) this.#add(claim)
    for (const claim of before) this.#remove(claim)
  }

  /** The backends that differ, undefined for those that go, and the problems of those to report. */
  *finish(): Stages<BackendStep> {
    const changed = new Map<string, Backend | undefined>()
    const problems = new Map<string, ProblemsByIngress>()
    for (const id of new Set([...this.#toResolve, ...this.#toReport])) {
      const used = this.#used.get(id)
      if (used === undefined || this.#resolve(id, used)) changed.set(id, used?.backend)
      problems.set(id, used === undefined ? new Map() : problemsOf(used))
      yield
    }
    this.#toResolve.clear()
    this.#toReport.clear()
    return { changed, problems }
  }

  /** Returns whether it differs. */
  #resolve(id: string, used: UsedBackend): boolean {
    if (!this.#toResolve.has(id)) return false
    const backend = resolveBackend(used.wanted, this.#source, this.#h2cProtocols)
    if (isDeepStrictEqual(used.backend, backend)) return false
    used.backend = backend
    return true
  }

  #add({ ingress: { key: ingress }, backend: wanted }: Claim): void {
    const { id, service } = wanted
    const used = this.#used.get(id) ?? { wanted, users: new Map<ObjectKey, number>(), backend: undefined }
    if (!this.#used.has(id)) {
      this.#used.set(id, used)
      this.#byService.set(service, (this.#byService.get(service) ?? new Set()).add(id))
      this.#toResolve.add(id)
    }
    const count = used.users.get(ingress) ?? 0
    used.users.set(ingress, count + 1)
    if (count === 0) this.#toReport.add(id)
  }

  #remove({ ingress: { key: ingress }, backend: { id, service } }: Claim): void {
    const users = this.#used.get(id)?.users
    const count = (users?.get(ingress) ?? 0) - 1
    if (users === undefined || count > 0) {
      users?.set(ingress, count)
      return
    }
    users.delete(ingress)
    this.#toReport.add(id)
    if (users.size > 0) return
    this.#used.delete(id)
    const ids = this.#byService.get(service)
    ids?.delete(id)
    if (ids?.size === 0) this.#byService.delete(service)
  }
}

export interface BackendStep {
  readonly changed: ReadonlyMap<string, Backend | undefined>
  /** Keys are `Backend.id`; empty where its users have no problem with it. */
  readonly problems: ReadonlyMap<string, ProblemsByIngress>
}

/** A backend that cannot be read has its problem from the reader already. */
function problemsOf({ wanted, users, backend }: UsedBackend): ProblemsByIngress {
  const message = wanted.why === undefined ? backend?.problem : undefined
  if (message === undefined) return new Map()
  return new Map(users.keys().map((ingress) => [ingress, [{ reason: 'BackendUnusable' as const, message }]]))
}
