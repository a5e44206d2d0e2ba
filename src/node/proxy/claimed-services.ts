import type { Component, Health } from '../../loop/component.ts'
import { TimeSlice } from '../../loop/time-slice.ts'
import type { ObjectKey } from '../../model/api-object.ts'
import type { EndpointSlice } from '../../model/endpoint-slice.ts'
import type { Logger } from '../../observe/index.ts'
import type { ChangeSet, ClusterAddresses, NodeState } from '../state/index.ts'
import type { ClaimedService } from './plan.ts'
import { claimKey, describeRefusedClaim, type RefusedClaim, ServiceClaims } from './service-claims.ts'

export interface ClaimedServicesParts {
  readonly state: NodeState
  readonly addresses: ClusterAddresses
  /** Where this agent reaches the API servers at first (`claimKey`), beside the endpoints of the Service kubernetes. */
  readonly apiServers: ReadonlySet<string>
  /** Called with a Service when what it may not have differs from before. */
  readonly onRefused: (service: ObjectKey, refused: readonly RefusedClaim[]) => void
  readonly log: Logger
}

/** The Service of the API server in every cluster. */
const apiServerService: ObjectKey = 'default/kubernetes'
const namedClaims = 5

/**
 * The Services as this node may serve them: the state, less the addresses that are another's. A change also names the Services
 * whose claims it decides. Nothing is reported before all claims are decided.
 */
export class ClaimedServices implements Component, NodeState {
  readonly name = 'claims'
  readonly #parts: ClaimedServicesParts
  readonly #claims = new ServiceClaims()
  readonly #refused = new Map<ObjectKey, readonly RefusedClaim[]>()
  readonly #views = new Map<ObjectKey, ClaimedService>()
  readonly #listeners = new Set<(change: ChangeSet) => void>()
  #isReady = false
  #taking: Promise<void> | undefined
  #late = new Set<ObjectKey>()
  #apiServers: ReadonlySet<string>
  #stops: (() => void)[] = []

  constructor(parts: ClaimedServicesParts) {
    this.#parts = parts
    this.#apiServers = parts.apiServers
  }

  get revision(): number {
    return this.#isReady ? this.#parts.state.revision : 0
  }

  get synced(): boolean {
    return this.#isReady
  }

  async start(): Promise<void> {
    const { state, addresses } = this.#parts
    this.#stops = [state.subscribe((change) => this.#onChange(change)), addresses.subscribe(() => this.#onAddresses())]
  }

  async stop(): Promise<void> {
    for (const stop of this.#stops) stop()
  }

  health(): Health {
    return { level: this.#isReady ? 'ok' : 'unknown', message: this.#message(), sinceMs: 0 }
  }

  service(key: ObjectKey): ClaimedService | undefined {
    return this.#views.get(key) ?? this.#parts.state.service(key)
  }

  serviceKeys(): Iterable<ObjectKey> {
    return this.#parts.state.serviceKeys()
  }

  slicesOf(service: ObjectKey): readonly EndpointSlice[] {
    return this.#parts.state.slicesOf(service)
  }

  subscribe(listener: (change: ChangeSet) => void): () => void {
    this.#listeners.add(listener)
    if (this.#isReady) listener({ revision: this.revision, services: new Set(this.serviceKeys()) })
    return () => this.#listeners.delete(listener)
  }

  /** Takes other addresses of the API servers (`claimKey`). */
  setApiServers(keys: ReadonlySet<string>): void {
    this.#apiServers = keys
    this.#onAddresses()
  }

  /** Every Service that may not have all it claims. */
  refusals(): ReadonlyMap<ObjectKey, readonly RefusedClaim[]> {
    return this.#refused
  }

  /** One sentence for each Service that does not get all it claims. */
  *problems(): Iterable<string> {
    for (const [key, refused] of this.#refused) yield `Service ${key}: not served at ${summarizeRefusedClaims(refused)}`
  }

  #message(): string {
    if (!this.#isReady) return 'waiting for the first list of Services and of reserved addresses'
    return this.#refused.size === 0
      ? 'no Service claims an address of another owner'
      : `${this.#refused.size} Services claim addresses of another owner`
  }

  #onChange(change: ChangeSet): void {
    if (!this.#isReady) {
      for (const key of change.services) this.#late.add(key)
      this.#taking ??= this.#takeAll()
      return
    }
    const affected = this.#update(change.services)
    this.#publish(affected.size === 0 ? change : { ...change, services: change.services.union(affected) })
  }

  #onAddresses(): void {
    if (!this.#isReady) return
    const { revision } = this.#parts.state
    const affected = this.#reserve()
    const changed = new Set([...affected].filter((key) => this.#judge(key)))
    if (changed.size > 0) this.#publish({ revision, services: changed })
  }

  /** Takes the first list in time slices; asks for nodes only where a Service has external addresses. */
  async #takeAll(): Promise<void> {
    const slice = new TimeSlice()
    while (this.#late.size > 0) {
      const keys = this.#late
      this.#late = new Set()
      for (const key of keys) {
        this.#claims.update(key, this.#parts.state.service(key))
        if (slice.spent) await slice.pause()
      }
      if (this.#claims.hasExternalIps) await this.#parts.addresses.want('nodes', 'servicecidrs')
    }
    this.#reserve()
    for (const key of this.#parts.state.serviceKeys()) {
      this.#judge(key)
      if (slice.spent) await slice.pause()
    }
    this.#isReady = true
    const services = new Set([...this.serviceKeys(), ...this.#late])
    this.#update(this.#late)
    this.#publish({ revision: this.revision, services })
  }

  /** Returns the Services beside these whose addresses differ now. */
  #update(keys: ReadonlySet<ObjectKey>): ReadonlySet<ObjectKey> {
    const affected = new Set<ObjectKey>()
    for (const key of keys)
      for (const other of this.#claims.update(key, this.#parts.state.service(key))) affected.add(other)
    if (keys.has(apiServerService)) for (const key of this.#reserve()) affected.add(key)
    if (this.#claims.hasExternalIps) void this.#parts.addresses.want('nodes', 'servicecidrs')
    for (const key of keys) this.#judge(key)
    return new Set([...affected].filter((key) => !keys.has(key) && this.#judge(key)))
  }

  #reserve(): ReadonlySet<ObjectKey> {
    const { addresses } = this.#parts
    const keys = this.slicesOf(apiServerService).flatMap(({ endpoints, ports }) =>
      endpoints.flatMap(({ address }) => ports.map(({ protocol, port }) => claimKey(address, protocol, port))),
    )
    const { nodes, serviceCidrs } = addresses
    return this.#claims.reserve({ nodes, serviceCidrs, apiServers: this.#apiServers.union(new Set(keys)) })
  }

  /** Whether the Service has other addresses than before. */
  #judge(key: ObjectKey): boolean {
    const refused = this.#claims.refusalsOf(key)
    if (refused.length === 0 && !this.#refused.has(key)) return false
    const service = this.#parts.state.service(key)
    const before = this.#refused.get(key) ?? []
    if (refused.length === 0 || service === undefined) {
      this.#views.delete(key)
      this.#refused.delete(key)
    } else {
      const claims = refused.map((claim) => [claimKey(claim.address, claim.protocol, claim.port), claim] as const)
      this.#views.set(key, { ...service, refusedClaims: new Map(claims) })
      this.#refused.set(key, refused)
    }
    if (describe(before) === describe(refused)) return false
    this.#report(key, refused)
    return true
  }

  #report(service: ObjectKey, refused: readonly RefusedClaim[]): void {
    const { log, onRefused } = this.#parts
    onRefused(service, refused)
    if (refused.length === 0) log.info('a Service has all addresses that it claims', { service })
    else
      log.warn('a Service claims addresses of another owner; it is not served at them', {
        service,
        claims: summarizeRefusedClaims(refused),
      })
  }

  #publish(change: ChangeSet): void {
    for (const listener of this.#listeners) listener(change)
  }
}

/** At most a handful, for a log line or an Event. */
export function summarizeRefusedClaims(refused: readonly RefusedClaim[]): string {
  const named = refused.slice(0, namedClaims).map(describeRefusedClaim).join('; ')
  return refused.length > namedClaims ? `${named}; and ${refused.length - namedClaims} more` : named
}

function describe(refused: readonly RefusedClaim[]): string {
  return refused.map(describeRefusedClaim).join('; ')
}
