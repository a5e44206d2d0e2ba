import type { ObjectKey } from '../../model/api-object.ts'
import { none } from '../../model/compact.ts'
import type { Ip } from '../../model/ip.ts'
import type {
  Labels,
  NamedPort,
  NetworkPolicy,
  PolicyChanges,
  PolicyCluster,
  PolicyPod,
} from '../../model/network-policy.ts'
import { ActivePolicies } from './active-policies.ts'
import { Addresses } from './addresses.ts'
import type { RemotePods } from './plan-watches.ts'
import { SharedValues } from './shared-values.ts'
import type { Direction } from './verdict.ts'

/** A Pod object as this node keeps it. */
export interface PodRecord {
  readonly key: ObjectKey
  readonly uid: string
  readonly namespace: string
  readonly labels: Labels
  /** The addresses of its status. */
  readonly ips: readonly Ip[]
  readonly ports: readonly NamedPort[]
  readonly isLocal: boolean
  /** Whether it has finished or uses the host's network: no policy selects it, and none of its addresses is its own. */
  readonly isOutside: boolean
  readonly isTerminating: boolean
  /** When the object was created, milliseconds since 1970. */
  readonly createdAtMs: number
}

/** The network of a pod of this node as it was announced. */
export interface AnnouncedPod {
  readonly key: ObjectKey
  /** Empty where the runtime does not say it. */
  readonly uid: string
  readonly ips: readonly Ip[]
}

type Listener = (changes: PolicyChanges) => void

/**
 * The policies, pods and namespaces that this node knows, with a feed of what changes. It is a function of the newest objects and of what
 * was announced: a pod that was announced has those addresses, and its object's labels and ports once that is known. An address belongs to
 * the pod that was announced with it last; without an announcement to one that is not terminating, then to the younger one.
 */
export class ClusterState implements PolicyCluster {
  readonly #policies = new Map<ObjectKey, NetworkPolicy>()
  readonly #namespaces = new Map<string, Labels>()
  readonly #records = new Map<ObjectKey, PodRecord>()
  readonly #announced = new Map<ObjectKey, { readonly pod: AnnouncedPod; readonly order: number }>()
  readonly #pods = new Map<ObjectKey, PolicyPod>()
  readonly #local = new Set<ObjectKey>()
  readonly #addresses = new Addresses((key) => this.#rankOf(key))
  readonly #labels = new SharedValues<Labels>()
  readonly #ports = new SharedValues<readonly NamedPort[]>()
  readonly #listeners = new Set<Listener>()
  readonly #active = new ActivePolicies()
  #order = 0
  #revision = 0

  /** Counts the changes that were handed on. */
  get revision(): number {
    return this.#revision
  }

  policies(): Iterable<NetworkPolicy> {
    return this.#policies.values()
  }

  pods(): Iterable<PolicyPod> {
    return this.#pods.values()
  }

  /** The pods of this node. */
  *localPods(): Iterable<PolicyPod> {
    for (const key of this.#local) {
      const pod = this.#pods.get(key)
      if (pod !== undefined) yield pod
    }
  }

  namespaceLabels(namespace: string): Labels | undefined {
    return this.#namespaces.get(namespace)
  }

  namespaces(): Iterable<readonly [name: string, labels: Labels]> {
    return this.#namespaces
  }

  policy(key: ObjectKey): NetworkPolicy | undefined {
    return this.#policies.get(key)
  }

  pod(key: ObjectKey): PolicyPod | undefined {
    return this.#pods.get(key)
  }

  /** The pod that an address belongs to. */
  podAt(address: Ip): PolicyPod | undefined {
    const owner = this.#addresses.ownerOf(address)
    return owner === undefined ? undefined : this.#pods.get(owner)
  }

  /** The policies that isolate a pod of this node in a direction, sorted. */
  isolating(pod: ObjectKey, direction: Direction): readonly ObjectKey[] {
    return this.#active.isolating(pod, direction)
  }

  /** The namespaces whose pods on other nodes the policies of this node's pods need. */
  get remotePods(): RemotePods {
    return this.#active.remotePods
  }

  get counts(): { readonly policies: number; readonly pods: number; readonly namespaces: number } {
    return { policies: this.#policies.size, pods: this.#pods.size, namespaces: this.#namespaces.size }
  }

  /** Everything that there is, as the change that leads to it from nothing. */
  everything(): PolicyChanges {
    return { policies: new Map(this.#policies), pods: new Map(this.#pods), namespaces: new Map(this.#namespaces) }
  }

  /** The listener runs after the change was taken, once for each that changed something. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Takes new versions of policies, undefined for those that are gone. Equal ones change nothing. */
  setPolicies(policies: ReadonlyMap<ObjectKey, NetworkPolicy | undefined>): void {
    this.#publish({ policies: putAll(this.#policies, policies) })
  }

  /** Takes the labels of namespaces, undefined for those that are gone. */
  setNamespaces(namespaces: ReadonlyMap<string, Labels | undefined>): void {
    this.#publish({ namespaces: putAll(this.#namespaces, namespaces) })
  }

  /** Takes Pod objects, undefined for those that are gone. */
  setPods(records: ReadonlyMap<ObjectKey, PodRecord | undefined>): void {
    const touched = new Set<ObjectKey>()
    for (const [key, record] of records) {
      const before = this.#records.get(key)
      if (record === undefined) this.#records.delete(key)
      else this.#records.set(key, this.#share(record))
      this.#forgetShared(before)
      this.#reclaim(key, touched)
    }
    this.#publishPods(touched)
  }

  /** The announcements of a pod as they are now: undefined after the last one was withdrawn. */
  setAnnounced(key: ObjectKey, pod: AnnouncedPod | undefined): void {
    const known = this.#announced.get(key)?.pod
    if (pod === undefined) this.#announced.delete(key)
    else if (JSON.stringify(known) !== JSON.stringify(pod)) {
      this.#order += 1
      this.#announced.set(key, { pod, order: this.#order })
    }
    const touched = new Set<ObjectKey>()
    this.#reclaim(key, touched)
    this.#publishPods(touched)
  }

  /** Claims the addresses of a pod anew; `touched` receives the pods that gain or lose one. */
  #reclaim(key: ObjectKey, touched: Set<ObjectKey>): void {
    touched.add(key)
    const record = this.#records.get(key)
    const claimed = record?.isOutside ? [] : (this.#announced.get(key)?.pod.ips ?? record?.ips ?? [])
    for (const other of this.#addresses.claim(key, claimed)) touched.add(other)
  }

  #rankOf(key: ObjectKey): readonly [announced: number, alive: number, createdAtMs: number] {
    const record = this.#records.get(key)
    return [this.#announced.get(key)?.order ?? 0, record?.isTerminating ? 0 : 1, record?.createdAtMs ?? 0]
  }

  #publishPods(touched: ReadonlySet<ObjectKey>): void {
    const pods = new Map<ObjectKey, PolicyPod | undefined>()
    for (const key of touched) {
      const before = this.#pods.get(key)
      const after = this.#join(key)
      if (samePod(before, after)) continue
      if (after === undefined) this.#pods.delete(key)
      else this.#pods.set(key, after)
      if (after?.isLocal) this.#local.add(key)
      else this.#local.delete(key)
      pods.set(key, after)
    }
    this.#publish({ pods })
  }

  /** A pod from its object and its announcement. An object of an earlier life tells nothing of this one. */
  #join(key: ObjectKey): PolicyPod | undefined {
    const record = this.#records.get(key)
    const announced = this.#announced.get(key)?.pod
    const ips = this.#addresses.of(key)
    const isOther = announced !== undefined && record !== undefined && !isSameLife(announced, record)
    if (record === undefined || isOther) return announced && unknownPod(key, ips)
    if (record.isOutside) return undefined
    const { namespace, labels, ports, isLocal } = record
    return { key, namespace, labels, ips, isLocal: isLocal || announced !== undefined, ports }
  }

  #share(record: PodRecord): PodRecord {
    return { ...record, labels: this.#labels.share(record.labels), ports: this.#ports.share(record.ports) }
  }

  #forgetShared(record: PodRecord | undefined): void {
    if (record === undefined) return
    this.#labels.forget(record.labels)
    this.#ports.forget(record.ports)
  }

  #publish({ policies = new Map(), pods = new Map(), namespaces = new Map() }: Partial<PolicyChanges>): void {
    if (policies.size + pods.size + namespaces.size === 0) return
    this.#revision += 1
    const changes = { policies, pods, namespaces }
    this.#active.take(changes)
    for (const listener of this.#listeners) listener(changes)
  }
}

const noLabels: Labels = {}

function isSameLife({ uid }: AnnouncedPod, record: PodRecord): boolean {
  return uid === '' || record.uid === '' || uid === record.uid
}

function unknownPod(key: ObjectKey, ips: readonly Ip[]): PolicyPod {
  const namespace = key.slice(0, key.indexOf('/'))
  return { key, namespace, labels: noLabels, ips, isLocal: true, ports: none, isUnknown: true }
}

function samePod(one: PolicyPod | undefined, other: PolicyPod | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  const hasSameAddresses = one.ips.length === other.ips.length && one.ips.every((ip, index) => ip === other.ips[index])
  const isSameSort = one.isLocal === other.isLocal && one.isUnknown === other.isUnknown
  // Equal labels and ports are one value.
  return hasSameAddresses && isSameSort && one.labels === other.labels && one.ports === other.ports
}

/** Returns those that differ from before. */
function putAll<Key, Value>(
  table: Map<Key, Value>,
  changes: ReadonlyMap<Key, Value | undefined>,
): ReadonlyMap<Key, Value | undefined> {
  const changed = new Map<Key, Value | undefined>()
  for (const [key, value] of changes) {
    if (JSON.stringify(table.get(key)) === JSON.stringify(value)) continue
    if (value === undefined) table.delete(key)
    else table.set(key, value)
    changed.set(key, value)
  }
  return changed
}
