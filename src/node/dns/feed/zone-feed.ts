import { setTimeout as sleep } from 'node:timers/promises'
import { Backoff } from '../../../loop/backoff.ts'
import { BoundedFrequencyRunner } from '../../../loop/bounded-frequency-runner.ts'
import { TimeSlice } from '../../../loop/time-slice.ts'
import type { ObjectKey } from '../../../model/api-object.ts'
import { describeError } from '../../../model/errors.ts'
import { type Logger, PendingTraces, silentTracer, startShared, type Tracer } from '../../../observe/index.ts'
import type { AppliedRevisions, LiveNodeState } from '../../state/index.ts'
import type { Series } from '../metrics/series.ts'
import { KubernetesMetrics } from '../plugins/kubernetes/metrics.ts'
import { ClusterZone, type PodView } from '../zone/cluster-zone.ts'
import type { SharedTable } from '../zone/layout.ts'
import { sameZone, type ZoneSettings } from '../zone/settings.ts'
import { LabelSelection, type Labels } from './label-selection.ts'

/** How long a reload waits for the labels that a zone selects by. */
const labelsWaitMs = 5000

export interface ZoneFeedParts {
  readonly state: LiveNodeState
  readonly applied: AppliedRevisions
  /** Receives a table that readers must go over to. */
  readonly onTable: (index: number, table: SharedTable) => void
  /** Is called when everything that was listed is in the tables. */
  readonly onSynced: () => void
  readonly log: Logger
  /** Absent: changes are not traced. */
  readonly tracer?: Tracer
}

interface FedZone {
  readonly settings: ZoneSettings
  readonly zone: ClusterZone
}

/** Keeps the tables up to date with the state of the node. The work for a change is that of the Services it names. */
export class ZoneFeed {
  readonly #parts: ZoneFeedParts
  readonly #dirty = new Set<ObjectKey>()
  readonly #traces = new PendingTraces()
  readonly #selection = new LabelSelection()
  readonly #pods = new Map<ObjectKey, PodView>()
  #onPodsWanted: (wanted: boolean) => void = () => {}
  #onServiceLabelsWanted: (wanted: boolean) => void = () => {}
  /** Resolves when the labels of Services were listed; undefined while no zone needs them. */
  #serviceLabels: PromiseWithResolvers<'listed'> | undefined
  #areServiceLabelsListed = false
  readonly #changedAtMs = new Map<ObjectKey, number>()
  readonly #sync: BoundedFrequencyRunner
  readonly #metrics = new KubernetesMetrics()
  /** When the endpoints of headless Services changed, for changes that are not in the answers yet. */
  readonly #triggeredAtMs: number[] = []
  #zones: readonly FedZone[] = []
  #namespacesListed = false
  #synced = false
  #unsubscribe = () => {}

  constructor(parts: ZoneFeedParts) {
    this.#parts = parts
    this.#sync = new BoundedFrequencyRunner(() => this.#syncTraced(), {
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

  series(): Iterable<Series> {
    return this.#metrics.series(this.names, this.#zones.length > 0)
  }

  /** Returns when the Service was last seen to change, in ms since 1970. */
  changedAtMs(service: ObjectKey): number | undefined {
    return this.#changedAtMs.get(service)
  }

  start(): void {
    const startedAtMs = Date.now()
    this.#unsubscribe = this.#parts.state.subscribe(({ services, triggeredAtMs = [], traces }) => {
      const nowMs = Date.now()
      this.#traces.add(traces)
      if (services.size === 1 && [...services].every((key) => this.#parts.state.service(key)?.headless))
        this.#triggeredAtMs.push(...triggeredAtMs.filter((atMs) => atMs >= startedAtMs))
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

  /** Changes the zones. A zone with the settings of one before keeps its table, and nothing is written again. */
  async changeZones(wanted: readonly ZoneSettings[]): Promise<void> {
    const before = this.#zones
    const next = wanted.map(
      (settings) => before.find((fed) => sameZone(fed.settings, settings)) ?? this.#create(settings),
    )
    this.#requestServiceLabels(wanted.some(({ labels }) => labels !== undefined))
    if (this.#synced && this.#serviceLabels)
      await Promise.race([this.#serviceLabels.promise, sleep(labelsWaitMs, undefined, { ref: false })])
    for (const fed of next) if (!before.includes(fed)) await this.#fill(fed)
    this.#zones = next
    this.#sync.request()
    if (!this.#verifiesPods) this.#pods.clear()
    this.#onPodsWanted(this.#verifiesPods)
  }

  /** Calls the listener at once, and with every change of the zones: true where one of them verifies Pods. */
  watchPodsWanted(listener: (wanted: boolean) => void): void {
    this.#onPodsWanted = listener
    listener(this.#verifiesPods)
  }

  /** Calls the listener at once, and with every change of the zones: true where one of them selects by the labels of Services. */
  watchServiceLabelsWanted(listener: (wanted: boolean) => void): void {
    this.#onServiceLabelsWanted = listener
    listener(this.#serviceLabels !== undefined)
  }

  #requestServiceLabels(wanted: boolean): void {
    if (wanted === (this.#serviceLabels !== undefined)) return
    this.#serviceLabels = wanted ? Promise.withResolvers() : undefined
    this.#areServiceLabelsListed = false
    if (!wanted) for (const key of this.#selection.services()) this.#selection.setService(key, undefined)
    this.#onServiceLabelsWanted(wanted)
  }

  setServiceLabels(key: ObjectKey, labels: Labels | undefined): void {
    if (!this.#selection.setService(key, labels)) return
    this.#dirty.add(key)
    this.#sync.request()
  }

  replaceServiceLabels(services: ReadonlyMap<ObjectKey, Labels>): void {
    for (const key of this.#selection.services()) if (!services.has(key)) this.setServiceLabels(key, undefined)
    for (const [key, labels] of services) this.setServiceLabels(key, labels)
    this.#areServiceLabelsListed = true
    this.#serviceLabels?.resolve('listed')
    this.#sync.request()
  }

  /** Replaces a running Pod, or removes it where `pod` is undefined. */
  setPod(key: ObjectKey, pod: PodView | undefined): void {
    if (pod === undefined) this.#pods.delete(key)
    else this.#pods.set(key, pod)
    for (const fed of this.#zones) this.#updatePod(fed, key, pod)
  }

  replacePods(pods: ReadonlyMap<ObjectKey, PodView>): void {
    for (const key of [...this.#pods.keys()]) if (!pods.has(key)) this.setPod(key, undefined)
    for (const [key, pod] of pods) this.setPod(key, pod)
  }

  #updatePod({ zone, settings }: FedZone, key: ObjectKey, pod: PodView | undefined): void {
    if (settings.pods !== 'verified') return
    zone.setPod(key, pod && this.#selection.selectsPod(settings, pod) ? pod : undefined)
  }

  get #verifiesPods(): boolean {
    return this.#zones.some(({ settings }) => settings.pods === 'verified')
  }

  /** Replaces the labels of a namespace, or removes it where they are undefined. */
  setNamespace(name: string, labels: Labels | undefined): void {
    this.#setNamespaces([[name, labels]])
  }

  replaceNamespaces(namespaces: ReadonlyMap<string, Labels>): void {
    const gone = this.#selection.namespaces().filter((name) => !namespaces.has(name))
    this.#setNamespaces([...gone.map((name) => [name, undefined] as const), ...namespaces])
    this.#namespacesListed = true
    this.#sync.request()
  }

  /** Looks through the objects once for all namespaces that a zone selects now and did not before, or the other way round. */
  #setNamespaces(namespaces: Iterable<readonly [name: string, labels: Labels | undefined]>): void {
    const changed = new Map(this.#zones.map((fed) => [fed, new Set<string>()]))
    for (const [name, labels] of namespaces) {
      const before = this.#zones.filter(({ settings }) => this.#selection.selectsNamespace(settings, name))
      this.#selection.setNamespace(name, labels)
      for (const [fed, names] of changed) {
        const isSelected = this.#selection.selectsNamespace(fed.settings, name)
        fed.zone.setNamespace(name, isSelected)
        if (isSelected !== before.includes(fed)) names.add(name)
      }
    }
    for (const [fed, names] of changed)
      if (names.size > 0 && fed.settings.namespaceLabels !== undefined) this.#updateObjectsOf(fed, names)
  }

  #updateObjectsOf(fed: FedZone, namespaces: ReadonlySet<string>): void {
    for (const key of this.#parts.state.serviceKeys())
      if (namespaces.has(key.slice(0, key.indexOf('/')))) this.#dirty.add(key)
    for (const [key, pod] of this.#pods) if (namespaces.has(pod.namespace)) this.#updatePod(fed, key, pod)
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

  async #fill(fed: FedZone): Promise<void> {
    const { zone, settings } = fed
    const slice = new TimeSlice()
    for (const name of this.#selection.namespaces())
      zone.setNamespace(name, this.#selection.selectsNamespace(settings, name))
    for (const [key, pod] of this.#pods) this.#updatePod(fed, key, pod)
    if (!this.#synced) return
    for (const key of [...this.#parts.state.serviceKeys()]) await this.#updateService(fed, key, slice)
    await takeSteps(zone.answerReverseInSteps(), slice)
    this.#markSynced(fed)
  }

  async #updateService({ zone, settings }: FedZone, key: ObjectKey, slice: TimeSlice): Promise<void> {
    const { state } = this.#parts
    const service = this.#selection.selectsService(settings, key) ? state.service(key) : undefined
    await takeSteps(zone.setServiceInSteps(key, service && { service, slices: state.slicesOf(key) }), slice)
  }

  /** Marks a zone as complete. Until the labels that it selects by are known, a missing name may exist. */
  #markSynced({ zone, settings }: FedZone): void {
    if (settings.labels === undefined || this.#areServiceLabelsListed) zone.markSynced()
  }

  async #syncTraced(): Promise<void> {
    const { state, tracer = silentTracer } = this.#parts
    if (!state.synced) return
    const attributes = { 'platnet.services': this.#dirty.size }
    const span = startShared(tracer, 'publish DNS names', this.#traces.take(), { attributes })
    try {
      await this.#syncOnce()
      span.end()
    } catch (error) {
      span.end({ error: describeError(error) })
      throw error
    }
  }

  async #syncOnce(): Promise<void> {
    const { state, applied } = this.#parts
    const revision = state.revision
    const slice = new TimeSlice()
    for (const key of this.#dirty) {
      this.#dirty.delete(key)
      for (const fed of this.#zones) await this.#updateService(fed, key, slice)
    }
    for (const { zone } of this.#zones) await takeSteps(zone.answerReverseInSteps(), slice)
    for (const { zone } of this.#zones) zone.setSerial(Math.floor(Date.now() / 1000))
    for (const atMs of this.#triggeredAtMs.splice(0)) this.#metrics.observeProgramming((Date.now() - atMs) / 1000)
    applied.publish('dns', revision)
    if (this.#namespacesListed) this.#finishFirst()
  }

  #finishFirst(): void {
    for (const fed of this.#zones) this.#markSynced(fed)
    if (this.#synced) return
    this.#synced = true
    this.#parts.onSynced()
  }
}

/** Runs the steps, with turns for other work in between. */
async function takeSteps(steps: Iterable<void>, slice: TimeSlice): Promise<void> {
  for (const _ of steps) if (slice.spent) await slice.pause()
}
