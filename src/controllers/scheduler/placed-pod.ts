import { parseQuantity } from '../../model/quantity.ts'
import type { Node } from '../objects/node.ts'
import type { Pod } from '../objects/pod.ts'
import { type Amounts, type PodTerm, type Requirements, requirementsOf } from './requirements.ts'
import type { PodVolumes } from './volumes.ts'

/** A pod with its parsed requirements. Requests are in thousandths of a unit, by resource name. */
export interface PodDemand {
  readonly pod: Pod
  /** The labels of the pod's namespace, for namespace selectors in terms of other pods. */
  readonly namespaceLabels: Readonly<Record<string, string>>
  readonly requirements: Requirements
  readonly requests: ReadonlyMap<string, bigint>
  readonly hostPorts: readonly HostPort[]
  /** Where the volumes of its claims are; absent for a pod without claims, or one that has a node. */
  readonly volumes?: PodVolumes
}

export interface HostPort {
  readonly protocol: string
  /** The host address; `0.0.0.0` is every address of the node. */
  readonly ip: string
  readonly port: number
}

/** A node with the pods on it; `requested` is the sum of their requests. */
export interface NodeLoad {
  readonly node: Node
  readonly pods: PodDemand[]
  /** The pods on the node that have anti-affinity. */
  readonly repelling: PodDemand[]
  readonly requested: Map<string, bigint>
  /** The lowest priority of the pods on the node. */
  lowestPriority: number
}

export function emptyLoad(node: Node): NodeLoad {
  return { node, pods: [], repelling: [], requested: new Map(), lowestPriority: Number.POSITIVE_INFINITY }
}

/** Parses a pod's requirements. Throws ZodError or QuantityError if the spec is invalid. */
export function demandOf(pod: Pod, namespaceLabels: PodDemand['namespaceLabels']): PodDemand {
  const requirements = requirementsOf(pod.spec)
  return {
    pod,
    namespaceLabels,
    requirements,
    requests: requestsOf(requirements),
    hostPorts: hostPortsOf(requirements),
  }
}

/** Returns all nodes with the pods bound to them. Finished pods use no resources. */
export function loadNodes(nodes: readonly Node[], placed: readonly PodDemand[]): ReadonlyMap<string, NodeLoad> {
  const loads = new Map(nodes.map((node) => [node.metadata.name, emptyLoad(node)]))
  for (const demand of placed) {
    const load = loads.get(demand.pod.spec.nodeName ?? '')
    if (load !== undefined) place(load, demand)
  }
  return loads
}

export function place(load: NodeLoad, demand: PodDemand): void {
  load.pods.push(demand)
  load.lowestPriority = Math.min(load.lowestPriority, demand.pod.spec.priority)
  if (antiAffinityOf(demand).length > 0) load.repelling.push(demand)
  for (const [resource, amount] of demand.requests) add(load.requested, resource, amount)
}

/** Returns the required anti-affinity terms of the pod. */
export function antiAffinityOf({ requirements }: PodDemand): readonly PodTerm[] {
  return requirements.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution
}

const available = new WeakMap<Node, ReadonlyMap<string, bigint>>()

/**
 * Returns the resources that a node has for pods, in thousandths of a unit; empty if the node reports none. The result
 * is cached, because every pod is compared with it.
 */
export function availableOn(node: Node): ReadonlyMap<string, bigint> {
  const known = available.get(node)
  if (known !== undefined) return known
  const { allocatable, capacity } = node.status
  const amounts = amountsOf(Object.keys(allocatable).length > 0 ? allocatable : capacity)
  available.set(node, amounts)
  return amounts
}

/**
 * Returns the requests of a pod. Containers and sidecars run together. Other init containers run one at a time, beside
 * the sidecars that started before them.
 */
function requestsOf({ containers, initContainers, overhead }: Requirements): ReadonlyMap<string, bigint> {
  const sidecars = new Map<string, bigint>()
  const most = new Map<string, bigint>()
  for (const { restartPolicy, resources } of initContainers) {
    const own = amountsOf(resources.requests)
    if (restartPolicy === 'Always') addAll(sidecars, own)
    else raiseAll(most, sum(sidecars, own))
  }
  const running = containers.reduce((total, { resources }) => sum(total, amountsOf(resources.requests)), sidecars)
  raiseAll(most, running)
  return sum(most, amountsOf(overhead))
}

function amountsOf(amounts: Amounts): ReadonlyMap<string, bigint> {
  return new Map(Object.entries(amounts).map(([resource, text]) => [resource, parseQuantity(String(text))]))
}

function sum(one: ReadonlyMap<string, bigint>, other: ReadonlyMap<string, bigint>): Map<string, bigint> {
  const total = new Map(one)
  addAll(total, other)
  return total
}

function addAll(total: Map<string, bigint>, more: ReadonlyMap<string, bigint>): void {
  for (const [resource, amount] of more) add(total, resource, amount)
}

function add(total: Map<string, bigint>, resource: string, amount: bigint): void {
  total.set(resource, (total.get(resource) ?? 0n) + amount)
}

function raiseAll(most: Map<string, bigint>, other: ReadonlyMap<string, bigint>): void {
  for (const [resource, amount] of other) if (amount > (most.get(resource) ?? 0n)) most.set(resource, amount)
}

function hostPortsOf({ containers, initContainers }: Requirements): readonly HostPort[] {
  const sidecars = initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always')
  return [...containers, ...sidecars].flatMap(({ ports }) =>
    ports
      .filter(({ hostPort }) => hostPort > 0)
      .map(({ protocol, hostIP, hostPort }) => ({ protocol, ip: hostIP || '0.0.0.0', port: hostPort })),
  )
}
