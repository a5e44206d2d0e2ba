import { Backoff } from '../../loop/backoff.ts'
import { SingleFlight } from '../../loop/single-flight.ts'
import { TimeSlice } from '../../loop/time-slice.ts'
import type { ObjectKey } from '../../model/api-object.ts'
import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/index.ts'
import type { AppliedRevisions, LiveNodeState } from '../state/index.ts'
import { sameZone } from './configuration/server-plan.ts'
import { ClusterZone, type PodView } from './zone/cluster-zone.ts'
import type { SharedTable } from './zone/layout.ts'
import type { ZoneSettings } from './zone/settings.ts'

export interface ZoneFeedParts {
  readonly state: LiveNodeState
  readonly applied: AppliedRevisions
  /** Readers go over to this table. */
  readonly onTable: (index: number, table: SharedTable) => void
  /** Everything that was listed is in the tables. */
  readonly onSynced: () => void
  readonly log: Logger
}

interface FedZone {
  readonly settings: ZoneSettings
  readonly zone: ClusterZone
}

/** Keeps the tables in step with the state: the work for a change is that of the Services it names. */
export class ZoneFeed {
  readonly #parts: ZoneFeedParts
  readonly #dirty = new Set<ObjectKey>()
  readonly #namespaces = new Set<string>()
  readonly #pods = new Map<ObjectKey, PodView>()
  #onPodsWanted: (wanted: boolean) => void = () => {}
  readonly #changedAtMs = new Map<ObjectKey, number>()
  readonly #sync: SingleFlight
  #zones: readonly FedZone[] = []
  #namespacesListed = false
  #synced = false
  #unsubscribe = () => {}

  constructor(parts: ZoneFeedParts) {
    this.#parts = parts
    this.#sync = new SingleFlight(() => this.#syncOnce(), {
      backoff: new Backoff({ baseMs: 100, maxMs: 10_000 }),
      onError: (error) =>
        parts.log.error('the names of the cluster could not be written', { error: describeError(error) }),
    })
  }

  get synced(): boolean {
    return this.#synced
  }

  get tables(): readonly SharedTable[] {
    return this.#zones.map(({ zone }) => zone.table)
  }

  get names(): number {
    return this.#zones.reduce((sum, { zone }) => sum + zone.size, 0)
  }

  /** When the Service was last seen to change, in ms since 1970. */
  changedAtMs(service: ObjectKey): number | undefined {
    return this.#changedAtMs.get(service)
  }

  start(): void {
    this.#unsubscribe = this.#parts.state.subscribe(({ services }) => {
      const nowMs = Date.now()
      for (const key of services) {
        this.#dirty.add(key)
        if (this.#parts.state.service(key) === undefined) this.#changedAtMs.delete(key)
        else this.#changedAtMs.set(key, nowMs)
      }
      this.#sync.request()
    })
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    this.#unsubscribe()
    await this.#sync.stop(scope)
  }

  /** Zones whose settings are as before keep their tables: nothing is written anew. */
  async changeZones(wanted: readonly ZoneSettings[]): Promise<void> {
    const before = this.#zones
    const next = wanted.map(
      (settings) => before.find((fed) => sameZone(fed.settings, settings)) ?? this.#create(settings),
    )
    for (const fed of next) if (!before.includes(fed)) await this.#fill(fed)
    this.#zones = next
    this.#sync.request()
    if (!this.#verifiesPods) this.#pods.clear()
    this.#onPodsWanted(this.#verifiesPods)
  }

  /** Tells at once, and with every change of the zones, whether one of them answers only for Pods that are there. */
  watchPodsWanted(listener: (wanted: boolean) => void): void {
    this.#onPodsWanted = listener
    listener(this.#verifiesPods)
  }

  /** A Pod that runs, undefined for one that does not. */
  setPod(key: ObjectKey, pod: PodView | undefined): void {
    if (pod === undefined) this.#pods.delete(key)
    else this.#pods.set(key, pod)
    for (const { zone, settings } of this.#zones) if (settings.pods === 'verified') zone.setPod(key, pod)
  }

  replacePods(pods: ReadonlyMap<ObjectKey, PodView>): void {
    for (const key of [...this.#pods.keys()]) if (!pods.has(key)) this.setPod(key, undefined)
    for (const [key, pod] of pods) this.setPod(key, pod)
  }

  get #verifiesPods(): boolean {
    return this.#zones.some(({ settings }) => settings.pods === 'verified')
  }

  setNamespace(name: string, exists: boolean): void {
    if (exists) this.#namespaces.add(name)
    else this.#namespaces.delete(name)
    for (const { zone } of this.#zones) zone.setNamespace(name, exists)
  }

  replaceNamespaces(names: ReadonlySet<string>): void {
    for (const name of [...this.#namespaces]) if (!names.has(name)) this.setNamespace(name, false)
    for (const name of names) this.setNamespace(name, true)
    this.#namespacesListed = true
    this.#sync.request()
  }

  #create(settings: ZoneSettings): FedZone {
    const zone: ClusterZone = new ClusterZone(settings, (table) => {
      const index = this.#zones.findIndex((fed) => fed.zone === zone)
      if (index !== -1) this.#parts.onTable(index, table)
    })
    zone.setSerial(Math.floor(Date.now() / 1000))
    return { settings, zone }
  }

  async #fill({ zone, settings }: FedZone): Promise<void> {
    const { state } = this.#parts
    const slice = new TimeSlice()
    for (const name of this.#namespaces) zone.setNamespace(name, true)
    if (settings.pods === 'verified') for (const [key, pod] of this.#pods) zone.setPod(key, pod)
    if (!this.#synced) return
    for (const key of [...state.serviceKeys()]) {
      setService(zone, state, key)
      if (slice.spent) await slice.pause()
    }
    zone.markSynced()
  }

  async #syncOnce(): Promise<void> {
    const { state, applied } = this.#parts
    if (!state.synced) return
    const revision = state.revision
    const slice = new TimeSlice()
    for (const key of this.#dirty) {
      this.#dirty.delete(key)
      for (const { zone } of this.#zones) setService(zone, state, key)
      if (slice.spent) await slice.pause()
    }
    for (const { zone } of this.#zones) zone.setSerial(Math.floor(Date.now() / 1000))
    applied.publish('dns', revision)
    if (this.#namespacesListed) this.#finishFirst()
  }

  #finishFirst(): void {
    for (const { zone } of this.#zones) zone.markSynced()
    if (this.#synced) return
    this.#synced = true
    this.#parts.onSynced()
  }
}

function setService(zone: ClusterZone, state: LiveNodeState, key: ObjectKey): void {
  const service = state.service(key)
  zone.setService(key, service && { service, slices: state.slicesOf(key) })
}
