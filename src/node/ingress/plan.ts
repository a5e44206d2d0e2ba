import { isDeepStrictEqual } from 'node:util'
import { inOnePiece, type Stages } from '../../loop/time-slice.ts'
import type { ObjectKey } from '../../model/api-object.ts'
import type { Ingress, TlsSecret } from '../../model/ingress.ts'
import type { Backend, HostPattern, HostRoutes, RoutingChange, RoutingTable } from '../../model/routing-table.ts'
import { formatProblem } from '../state/index.ts'
import { type ClassVerdict, type ObjectChanges, OwnIngresses } from './own-ingresses.ts'
import type { ServiceSource } from './plan-backends.ts'
import { type FoundSecret, type PlannedCertificates, planCertificates } from './plan-certificates.ts'
import { compareAge } from './plan-claims.ts'
import { PlannedProblems, type ProblemsByIngress } from './plan-problems.ts'
import { PlannedBackends } from './planned-backends.ts'
import { PlannedHosts } from './planned-hosts.ts'
import { withValues } from './sorted-map.ts'

export interface IngressPlanSettings {
  /** The name in `spec.controller` of the classes that are served here. */
  readonly controller: string
  /** Values of `appProtocol` for HTTP/2 without TLS, of the dialect. */
  readonly h2cProtocols: readonly string[]
  readonly defaultCertificate?: ObjectKey
  /** Served while there is no other default certificate. */
  readonly selfSigned?: TlsSecret
}

/** Objects that are new or differ. */
export interface IngressChanges extends ObjectChanges {
  /** Secrets of those that the step before asked for; undefined where the API has none of this name or does not give it. */
  readonly secrets?: ReadonlyMap<ObjectKey, FoundSecret>
  /** Services of which the object or the endpoints differ. */
  readonly services?: Iterable<ObjectKey>
}

export interface IngressStep {
  readonly table: RoutingTable
  /** The difference from the table of the step before; at first from an empty one. */
  readonly change: RoutingChange
  /** The problems of our Ingresses. The list of an Ingress is the one of the step before unless it differs. */
  readonly problems: ProblemsByIngress
  /** Secrets that the plan needs. One that leaves this set is forgotten, and is needed again when it comes back. */
  readonly secrets: ReadonlySet<ObjectKey>
  /** The reason why the default certificate that is configured is not served. */
  readonly defaultCertificateProblem?: string
  /** When a certificate becomes valid or expires next and a step without changes is due; milliseconds since 1970. */
  readonly nextChangeMs?: number
}

/**
 * Plans the routing table from changes of Ingresses, classes, certificates and Services (spec 2.9). A step costs what changed: an
 * endpoint touches the backends of its Service, an Ingress the hosts it names. The table follows from the objects and the clock alone,
 * never from the order in which they came.
 */
export class IngressPlan {
  readonly #settings: IngressPlanSettings
  readonly #ingresses: OwnIngresses
  readonly #hosts = new PlannedHosts()
  readonly #backends: PlannedBackends
  readonly #problems = new PlannedProblems()
  readonly #secrets = new Map<ObjectKey, FoundSecret>()
  #wanted: ReadonlySet<ObjectKey>
  #tls: PlannedCertificates | undefined
  #table: RoutingTable = { hosts: new Map(), backends: new Map(), certificates: [] }

  constructor(services: ServiceSource, settings: IngressPlanSettings) {
    const { controller, h2cProtocols, defaultCertificate } = settings
    this.#settings = settings
    this.#ingresses = new OwnIngresses(controller)
    this.#backends = new PlannedBackends(services, h2cProtocols)
    this.#wanted = new Set(defaultCertificate === undefined ? [] : [defaultCertificate])
  }

  /** The name of our controller in IngressClasses. */
  get controller(): string {
    return this.#ingresses.controller
  }

  /** Tells whether an IngressClass names our controller. */
  get hasClass(): boolean {
    return this.#ingresses.hasClass
  }

  /** Every Ingress that can be read, of foreign classes too. */
  ingresses(): IteratorObject<Ingress> {
    return this.#ingresses.all()
  }

  classOf(ingress: Ingress): ClassVerdict {
    return this.#ingresses.classOf(ingress)
  }

  /**
   * Takes changes and returns the table with what differs.
   *
   * @param nowMs milliseconds since 1970
   */
  update(changes: IngressChanges, nowMs: number): IngressStep {
    return inOnePiece(this.stages(changes, nowMs))
  }

  /** Works like `update`, in stages that may pause; the next ones begin when these have ended. */
  *stages(changes: IngressChanges, nowMs: number): Stages<IngressStep> {
    const hasTls = yield* this.#takeIngresses(changes)
    const hasSecrets = this.#takeSecrets(changes.secrets ?? new Map())
    this.#backends.touchServices(changes.services ?? [])
    const routes = yield* this.#planHosts()
    const backends = yield* this.#planBackends()
    const isDue = this.#tls === undefined || nowMs >= (this.#tls.nextMs ?? Number.POSITIVE_INFINITY)
    const certificates = hasTls || hasSecrets || isDue ? this.#planTls(nowMs) : this.#table.certificates
    const change = {
      hosts: new Set(routes.keys()),
      backends: new Set(backends.keys()),
      certificates: certificates !== this.#table.certificates,
    }
    yield
    const hosts = withValues(this.#table.hosts, routes)
    yield
    this.#table = { hosts, backends: withValues(this.#table.backends, backends), certificates }
    yield
    return this.#finish(change)
  }

  #finish(change: RoutingChange): IngressStep {
    const { defaultProblem, nextMs } = this.#tls ?? {}
    return {
      table: this.#table,
      change,
      problems: this.#problems.finish(),
      secrets: this.#wanted,
      ...(defaultProblem !== undefined && { defaultCertificateProblem: defaultProblem }),
      ...(nextMs !== undefined && { nextChangeMs: nextMs }),
    }
  }

  /** Returns whether TLS of an Ingress differs, or the age that decides between two. */
  *#takeIngresses(changes: ObjectChanges): Stages<boolean> {
    let hasTls = false
    for (const { key, before, after, problems } of this.#ingresses.update(changes)) {
      const unreadable = problems.map((problem) => ({
        reason: 'UnreadableIngress' as const,
        message: formatProblem(problem),
      }))
      this.#problems.set(`ingress ${key}`, new Map(unreadable.length === 0 ? [] : [[key, unreadable]]))
      if (before === after) continue
      this.#hosts.replace(before, after)
      hasTls ||= !isDeepStrictEqual(tlsOf(before), tlsOf(after))
      yield
    }
    return hasTls
  }

  #takeSecrets(secrets: ReadonlyMap<ObjectKey, FoundSecret>): boolean {
    const wanted = [...secrets].filter(([key]) => this.#wanted.has(key))
    for (const [key, found] of wanted) this.#secrets.set(key, found)
    return wanted.length > 0
  }

  *#planHosts(): Stages<ReadonlyMap<HostPattern, HostRoutes | undefined>> {
    const { changed, conflicts, before, after } = yield* this.#hosts.finish()
    for (const [place, problems] of conflicts) this.#problems.set(`host ${place}`, problems)
    this.#backends.replaceServed(before, after)
    return changed
  }

  *#planBackends(): Stages<ReadonlyMap<string, Backend | undefined>> {
    const { changed, problems } = yield* this.#backends.finish()
    for (const [id, found] of problems) this.#problems.set(`backend ${id}`, found)
    return changed
  }

  /** The list of the step before where nothing differs. */
  #planTls(nowMs: number): RoutingTable['certificates'] {
    const { defaultCertificate } = this.#settings
    const ingresses = [...this.#ingresses.own().filter(({ tls }) => tls.length > 0)].sort(compareAge)
    const named = ingresses.flatMap(({ tls }) => tls.flatMap(({ secret }) => secret ?? []))
    this.#wanted = new Set([...named, ...(defaultCertificate === undefined ? [] : [defaultCertificate])])
    for (const key of this.#secrets.keys()) if (!this.#wanted.has(key)) this.#secrets.delete(key)
    this.#tls = planCertificates({ ...this.#settings, ingresses, secrets: this.#secrets, nowMs })
    this.#problems.set('tls', this.#tls.problems)
    const { certificates } = this.#tls
    return isDeepStrictEqual(certificates, this.#table.certificates) ? this.#table.certificates : certificates
  }
}

function tlsOf(ingress: Ingress | undefined) {
  return ingress === undefined || ingress.tls.length === 0 ? undefined : [ingress.tls, ingress.createdAtMs]
}
