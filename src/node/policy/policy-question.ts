import type { ObjectKey } from '../../model/api-object.ts'
import { describeError } from '../../model/errors.ts'
import { type Ip, ipFamily } from '../../model/ip.ts'
import type { PolicyCluster, PolicyPod } from '../../model/network-policy.ts'
import type { Protocol } from '../../model/service.ts'
import type { AskedPod, ClusterLookup } from './asked-objects.ts'
import { PolicyEvaluator } from './evaluate.ts'
import { explainPolicy, type PolicyExplanation } from './explain-policy.ts'

/** A flow after DNAT. */
export interface AddressFlow {
  readonly source: Ip
  readonly destination: Ip
  readonly protocol: Protocol | 'other'
  readonly port: number
  /** Whether the node that asks replaces the source by an address of its own. */
  readonly isMasqueraded?: boolean
}

/** The objects and facts of this node that a question starts from. */
export interface QuestionParts {
  readonly cluster: PolicyCluster & {
    pod(key: ObjectKey): PolicyPod | undefined
    podAt(address: Ip): PolicyPod | undefined
  }
  readonly nodeName: string
  readonly isOwnAddress: (address: Ip) => boolean
  /** Whether this node isolates an address as that of a pod that it does not know. */
  readonly isIsolatedUnknown: (address: Ip) => boolean
  /** Undefined until the agent knows its API server. */
  readonly lookup: ClusterLookup | undefined
}

/** One end of a flow, as it was asked for. */
export type AskedEnd = { readonly ip: Ip } | { readonly pod: ObjectKey }

/** The addresses of an end, and what is to be known of it; or the reason why it has none. */
export type FoundEnd =
  | { readonly addresses: readonly Ip[]; readonly notes: readonly string[] }
  | { readonly fault: string; readonly isUnavailable: boolean }

/** An address with its pod and node, as far as they are known. */
interface Place {
  readonly pod?: PolicyPod | undefined
  /** The node of the pod, or the one whose own address it is. */
  readonly node?: string | undefined
  /** The reason why it is not known whose address it is. */
  readonly unknown?: string
}

/**
 * Answers what network policies say of flows between any two pods or addresses of the cluster, by the objects of one moment. Policies,
 * namespaces and the pods of this node are known here; Pods and Nodes of the rest of the cluster are listed once, when they are needed.
 */
export class PolicyQuestion {
  readonly #parts: QuestionParts
  readonly #places = new Map<Ip, Promise<Place>>()
  #pods: Promise<readonly AskedPod[]> | undefined
  #nodeAddresses: Promise<ReadonlyMap<Ip, string>> | undefined

  constructor(parts: QuestionParts) {
    this.#parts = parts
  }

  /** Finds the addresses of an end. */
  async find(end: AskedEnd): Promise<FoundEnd> {
    if ('ip' in end) return { addresses: [end.ip], notes: [] }
    const known = this.#parts.cluster.pod(end.pod)
    if (known?.isLocal === true)
      return known.ips.length > 0 ? { addresses: known.ips, notes: [] } : absent(`pod ${end.pod} has no address yet`)
    try {
      const asked = (await this.#listPods()).find(({ key }) => key === end.pod)
      return asked === undefined ? absent(`the cluster has no pod ${end.pod}`) : describeAsked(asked)
    } catch (error) {
      if (known !== undefined && known.ips.length > 0) return { addresses: known.ips, notes: [] }
      const reason = `pod ${end.pod} is not one of this node, and ${unavailable(error)}`
      return { fault: reason, isUnavailable: true }
    }
  }

  /** The node of an address; undefined where it is none of the cluster, or not known. */
  async nodeOf(address: Ip): Promise<string | undefined> {
    return (await this.#placeOf(address)).node
  }

  /** Finds the pod that has this port of a node's address; undefined if there is none, or it cannot be found out. */
  async behindHostPort(address: Ip, protocol: Protocol, port: number) {
    const { pod, node } = await this.#placeOf(address)
    if (pod !== undefined || node === undefined) return undefined
    const pods = await this.#listPods().catch(() => [])
    for (const { nodeName, kind, key, ips, hostPorts } of pods) {
      const found = hostPorts.find(
        (each) => each.hostPort === port && each.protocol === protocol && (each.hostIp ?? address) === address,
      )
      const ip = ips.find((each) => ipFamily(each) === ipFamily(address))
      if (kind === 'pod' && nodeName === node && found !== undefined && ip !== undefined)
        return { pod: key, address: ip, port: found.containerPort }
    }
    return undefined
  }

  /** Judges both sides of each flow. */
  async explain(flows: readonly AddressFlow[]): Promise<readonly PolicyExplanation[]> {
    const addresses = new Set(flows.flatMap(({ source, destination }) => [source, destination]))
    const places = new Map<Ip, Place>()
    for (const address of addresses) places.set(address, await this.#placeOf(address))
    const seen = new Map<AddressFlow, Ip | undefined>()
    for (const flow of flows) seen.set(flow, await this.#sourceAtDestination(flow, places))
    for (const own of seen.values()) if (own !== undefined) places.set(own, { node: this.#parts.nodeName })
    const evaluator = this.#createEvaluator(places)
    const nodes = nodesOfPods(places)
    return flows.map((flow) =>
      explainPolicy(evaluator, endsOf(flow, places), {
        sourceAtDestination: seen.get(flow),
        nodeOf: ({ key }) => nodes.get(key),
        nodeAt: (address) => places.get(address)?.node,
        whyUnknown: (address) => places.get(address)?.unknown,
      }),
    )
  }

  #createEvaluator(places: ReadonlyMap<Ip, Place>): PolicyEvaluator {
    const nodes = nodesOfPods(places)
    return new PolicyEvaluator(this.#parts.cluster, {
      judges: 'everywhere',
      isNodeAddress: (address, pod) => {
        const node = places.get(address)?.node
        return node !== undefined && node === nodes.get(pod.key)
      },
      podAt: (address) => places.get(address)?.pod,
    })
  }

  /** The address of this node that another node sees as the source; undefined where it sees the source itself. */
  async #sourceAtDestination(
    { source, destination, isMasqueraded }: AddressFlow,
    places: ReadonlyMap<Ip, Place>,
  ): Promise<Ip | undefined> {
    const { nodeName } = this.#parts
    const { node } = places.get(destination) ?? {}
    if (isMasqueraded !== true || node === undefined || node === nodeName) return undefined
    const nodes = await this.#listNodeAddresses().catch(() => new Map<Ip, string>())
    const own = [...nodes].find(([ip, name]) => name === nodeName && ipFamily(ip) === ipFamily(source))
    return own?.[0]
  }

  #placeOf(address: Ip): Promise<Place> {
    const known = this.#places.get(address) ?? this.#findPlace(address)
    this.#places.set(address, known)
    return known
  }

  async #findPlace(address: Ip): Promise<Place> {
    const { cluster, nodeName, isOwnAddress, isIsolatedUnknown } = this.#parts
    const known = cluster.podAt(address)
    if (known?.isLocal === true) return { pod: known, node: nodeName }
    if (isOwnAddress(address)) return { node: nodeName }
    if (known === undefined && isIsolatedUnknown(address)) return { pod: unknownPodAt(address), node: nodeName }
    try {
      const pod = youngest((await this.#listPods()).filter((each) => each.pod?.ips.includes(address)))
      if (pod !== undefined) return { pod: pod.pod, node: pod.nodeName }
      return { node: (await this.#listNodeAddresses()).get(address) }
    } catch (error) {
      return known === undefined ? { unknown: unavailable(error) } : { pod: known }
    }
  }

  #listPods(): Promise<readonly AskedPod[]> {
    this.#pods ??= this.#lookup().then((lookup) => lookup.pods())
    return this.#pods
  }

  /** Addresses of Nodes, and those of pods that use the network of their node. */
  #listNodeAddresses(): Promise<ReadonlyMap<Ip, string>> {
    this.#nodeAddresses ??= this.#lookup().then(async (lookup) => {
      const nodes = await lookup.nodes()
      const pods = (await this.#listPods()).filter(({ kind }) => kind === 'host-network')
      return new Map([
        ...pods.flatMap(({ ips, nodeName }) => ips.map((ip) => [ip, nodeName ?? ''] as const)),
        ...nodes.flatMap(({ name, addresses }) => addresses.map((ip) => [ip, name] as const)),
      ])
    })
    return this.#nodeAddresses
  }

  async #lookup(): Promise<ClusterLookup> {
    const { lookup } = this.#parts
    if (lookup === undefined) throw new Error('the agent has not reached it yet')
    return lookup
  }
}

function endsOf({ source, destination, protocol, port }: AddressFlow, places: ReadonlyMap<Ip, Place>) {
  const end = (address: Ip) => ({ address, pod: places.get(address)?.pod })
  return { source: end(source), destination: end(destination), protocol, port }
}

function nodesOfPods(places: ReadonlyMap<Ip, Place>): ReadonlyMap<ObjectKey, string> {
  return new Map(
    [...places.values()].flatMap(({ pod, node }) =>
      pod === undefined || node === undefined ? [] : [[pod.key, node] as const],
    ),
  )
}

function unavailable(error: unknown): string {
  return `the API server cannot be asked: ${describeError(error)}`
}

function absent(fault: string): FoundEnd {
  return { fault, isUnavailable: false }
}

function describeAsked({ key, kind, ips, nodeName, isTerminating }: AskedPod): FoundEnd {
  if (kind === 'finished') return absent(`pod ${key} has finished: it sends and receives nothing, and has no address`)
  if (ips.length === 0)
    return absent(`pod ${key} has no address yet${nodeName === undefined ? ': it is on no node' : ''}`)
  const notes = [
    ...(kind === 'host-network'
      ? [`Pod ${key} uses the network of its node ${nodeName}: it counts as the node, and no policy selects it.`]
      : []),
    ...(isTerminating ? [`Pod ${key} is terminating: policies select it until it is gone.`] : []),
  ]
  return { addresses: ips, notes }
}

/** An address that several claim belongs to the pod that stays, then to the younger one. */
function youngest(pods: readonly AskedPod[]): AskedPod | undefined {
  const rank = ({ isTerminating, createdAtMs }: AskedPod) => (isTerminating ? 0 : 1e15) + createdAtMs
  return [...pods].sort((one, other) => rank(other) - rank(one))[0]
}

/** Stands for the pod of an address in the pod network of this node that no known pod has. */
function unknownPodAt(address: Ip): PolicyPod {
  const place = { key: 'without a name', namespace: '', labels: {}, ips: [address], ports: [] }
  return { ...place, isLocal: true, isUnknown: true }
}
