import type { ObjectKey } from '../../../model/api-object.ts'
import type { Ip } from '../../../model/ip.ts'
import { recordType } from '../wire/codes.ts'
import { below, isUnder, type WireName } from '../wire/name.ts'
import { makeRecord } from '../wire/record.ts'
import { isReverse, reverseName } from '../wire/reverse-name.ts'
import type { PlannedName } from './answer-body.ts'
import { AnswerTableWriter, type TableCapacity } from './answer-table-writer.ts'
import { planAddresses, planFixedNames } from './fixed-names.ts'
import { isLabel, podLabel } from './labels.ts'
import type { SharedTable } from './layout.ts'
import { ReverseIndex, type ReverseTargets } from './reverse-index.ts'
import {
  type Extent,
  findExtent,
  noRecords,
  planServiceRecords,
  type ServiceName,
  type ServiceRecords,
  type ServiceView,
} from './service-records.ts'
import { negativeTtl, type ZoneSettings } from './settings.ts'

/** A running Pod, for `pods verified`. */
export interface PodView {
  readonly namespace: string
  readonly addresses: readonly Ip[]
  readonly labels?: Readonly<Record<string, string>>
}

/**
 * Keeps the zones of the cluster in a table that other threads answer from. The work for a change is that of the objects it names and of what
 * differs in them. Holds references to the objects it received last, no copies.
 */
export class ClusterZone {
  readonly #settings: ZoneSettings
  /** The zones, the longest name first. */
  readonly #zones: readonly WireName[]
  readonly #forward: readonly WireName[]
  readonly #writer: AnswerTableWriter
  readonly #views = new Map<ObjectKey, ServiceView>()
  readonly #reverse = new ReverseIndex()
  /** How many objects show that a namespace exists: the namespace itself and its Services. */
  readonly #namespaces = new Map<string, number>()
  readonly #namespaceObjects = new Set<string>()
  readonly #pods = new Map<ObjectKey, PodView>()
  readonly #podNames = new Map<string, number>()

  /** Calls `onMoved` with a new table that readers must go over to; the old one stays as it is. */
  constructor(settings: ZoneSettings, onMoved: (table: SharedTable) => void, capacity?: TableCapacity) {
    this.#settings = settings
    this.#zones = settings.zones.toSorted((a, b) => b.length - a.length)
    this.#forward = settings.zones.filter((zone) => !isReverse(zone))
    const heads = this.#zones.map((name) => ({
      name,
      fallthrough: settings.fallthroughZones.filter((zone) => isUnder(name, zone) || isUnder(zone, name)),
      ttl: settings.ttl,
      negativeTtl: Math.min(negativeTtl, settings.ttl),
    }))
    this.#writer = new AnswerTableWriter(heads, onMoved, capacity)
    for (const zone of this.#zones) for (const planned of planFixedNames(zone, settings)) this.#put(zone, planned)
  }

  get table(): SharedTable {
    return this.#writer.table
  }

  /** How many names have answers or names below them. */
  get size(): number {
    return this.#writer.size
  }

  /** Sets the serial of the SOA: the time of the last change, in seconds since 1970. */
  setSerial(seconds: number): void {
    this.#writer.serial = seconds
  }

  /** Marks that everything was listed: a name that is missing from now on does not exist. */
  markSynced(): void {
    this.#writer.markSynced()
  }

  /** Replaces a Service, or removes it where `view` is undefined. All its names are written when this returns. */
  setService(key: ObjectKey, view: ServiceView | undefined): void {
    for (const _ of this.setServiceInSteps(key, view));
    for (const _ of this.answerReverseInSteps());
  }

  /**
   * Does what `setService` does in short steps, because a Service may have thousands of names. It leaves reverse answers to
   * `answerReverseInSteps`, which makes them once for all Services that changed.
   */
  *setServiceInSteps(key: ObjectKey, view: ServiceView | undefined): Generator<void, void> {
    const before = this.#views.get(key)
    if (view === undefined) this.#views.delete(key)
    else this.#views.set(key, view)
    const extent = yield* findExtent(before, view, this.#settings)
    for (const zone of this.#forward) {
      const old = yield* this.#plan(before, zone, extent)
      const planned = yield* this.#plan(view, zone, extent)
      yield* this.#replaceNames(zone, old.names, planned.names)
      const hasReverse = this.#forward.length < this.#zones.length && zone === this.#forward[0]
      if (hasReverse) yield* this.#replaceReverse(key, old.reverse, planned.reverse)
    }
    if (before?.service.namespace === view?.service.namespace) return
    if (view !== undefined) this.#countNamespace(view.service.namespace, 1)
    if (before !== undefined) this.#countNamespace(before.service.namespace, -1)
  }

  /** Writes the reverse answers of the addresses that changed. */
  *answerReverseInSteps(): Generator<void, void> {
    for (const [address, targets] of this.#reverse.takeChanged()) {
      const name = reverseName(address)
      const zone = this.#zones.find((candidate) => isReverse(candidate) && isUnder(name, candidate))
      if (zone === undefined) continue
      if (targets.length === 0) this.#writer.remove(name)
      else this.#put(zone, planPointers(name, targets, this.#settings.ttl))
      yield
    }
  }

  setNamespace(name: string, exists: boolean): void {
    if (this.#namespaceObjects.has(name) === exists) return
    if (exists) this.#namespaceObjects.add(name)
    else this.#namespaceObjects.delete(name)
    this.#countNamespace(name, exists ? 1 : -1)
  }

  /** Replaces a running Pod, or removes it where `pod` is undefined; only for `pods verified`. */
  setPod(key: ObjectKey, pod: PodView | undefined): void {
    const before = this.#pods.get(key)
    if (pod === undefined) this.#pods.delete(key)
    else this.#pods.set(key, pod)
    for (const address of pod?.addresses ?? []) this.#countPod(pod?.namespace ?? '', address, 1)
    for (const address of before?.addresses ?? []) this.#countPod(before?.namespace ?? '', address, -1)
  }

  *#plan(view: ServiceView | undefined, zone: WireName, extent: Extent): Generator<void, ServiceRecords> {
    return view === undefined ? noRecords : yield* planServiceRecords(view, zone, this.#settings, extent)
  }

  #put(zone: WireName, planned: PlannedName): void {
    if (planned.name.length <= 255) this.#writer.put(this.#zones.indexOf(zone), planned)
  }

  /** Writes new names before old ones are removed. */
  *#replaceNames(zone: WireName, old: readonly ServiceName[], planned: readonly ServiceName[]): Generator<void, void> {
    const gone = new Map<string, ServiceName>()
    for (const each of old) {
      gone.set(each.name.toString('latin1'), each)
      yield
    }
    for (const { name, stamp, answers } of planned) {
      const key = name.toString('latin1')
      const before = gone.get(key)?.stamp
      const isAsBefore = stamp !== undefined && before !== undefined && stamp() === before()
      gone.delete(key)
      if (!isAsBefore) this.#put(zone, { name, answers: yield* answers() })
      yield
    }
    for (const { name } of gone.values()) {
      this.#writer.remove(name)
      yield
    }
  }

  *#replaceReverse(
    owner: ObjectKey,
    old: ReadonlyMap<Ip, ReverseTargets>,
    planned: ReadonlyMap<Ip, ReverseTargets>,
  ): Generator<void, void> {
    for (const address of old.keys()) {
      if (!planned.has(address)) this.#reverse.remove(address, owner)
      yield
    }
    for (const [address, targets] of planned) {
      this.#reverse.put(address, owner, targets)
      yield
    }
  }

  #countNamespace(name: string, by: number): void {
    if (!isLabel(name) || this.#settings.namespaces?.has(name) === false) return
    const count = (this.#namespaces.get(name) ?? 0) + by
    if (count === 0) this.#namespaces.delete(name)
    else this.#namespaces.set(name, count)
    for (const zone of this.#forward) this.#writeNamespace(zone, name, count > 0)
  }

  #writeNamespace(zone: WireName, namespace: string, exists: boolean): void {
    const { pods } = this.#settings
    const names = [{ name: below(zone, namespace, 'svc'), answers: [], podParent: false }]
    if (pods !== 'disabled') {
      names.push({ name: below(zone, namespace, 'pod'), answers: [], podParent: pods === 'insecure' })
    }
    for (const planned of names) {
      if (exists) this.#put(zone, planned)
      else this.#writer.remove(planned.name)
    }
  }

  /** Counts the Pods of an address, because Pods on the host's network share one. */
  #countPod(namespace: string, address: Ip, by: number): void {
    if (!isLabel(namespace) || this.#settings.namespaces?.has(namespace) === false) return
    const key = `${namespace} ${address}`
    const count = (this.#podNames.get(key) ?? 0) + by
    if (count === 0) this.#podNames.delete(key)
    else this.#podNames.set(key, count)
    for (const zone of this.#forward) {
      const name = below(zone, podLabel(address), namespace, 'pod')
      if (count === 0) this.#writer.remove(name)
      else this.#put(zone, { name, answers: planAddresses([address], this.#settings.ttl) })
    }
  }
}

function planPointers(name: WireName, targets: readonly string[], ttl: number): PlannedName {
  const answer = targets.map((target) => makeRecord(name, recordType.PTR, ttl, Buffer.from(target, 'latin1')))
  return { name, answers: [{ type: recordType.PTR, answer, additional: [] }] }
}
