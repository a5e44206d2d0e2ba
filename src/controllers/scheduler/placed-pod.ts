import { parseQuantity } from '../../model/quantity.ts'
import type { Node } from '../objects/node.ts'
import type { Pod } from '../objects/pod.ts'
import { type Amounts, type PodTerm, type Requirements, requirementsOf } from './requirements.ts'

/** A pod with what it asks for, read once: requests in thousandths by resource. */
export interface PodDemand {
  readonly pod: Pod
  /** Labels of its namespace, which terms of other pods may select. */
  readonly namespaceLabels: Readonly<Record<string, string>>
  readonly requirements: Requirements
  readonly requests: ReadonlyMap<string, bigint>
  readonly hostPorts: readonly HostPort[]
}

export interface HostPort {
  readonly protocol: string
  /** `0.0.0.0` stands for every address of the node. */
  readonly ip: string
  readonly port: number
}

/** A node with the pods on it; `requested` is their sum. */
export interface NodeLoad {
  readonly node: Node
  readonly pods: PodDemand[]
  /** Pods among them with anti-affinity. */
  readonly repelling: PodDemand[]
  readonly requested: Map<string, bigint>
  /** The lowest priority of all pods. */
  lowestPriority: number
}

export function emptyLoad(node: Node): NodeLoad {
  return { node, pods: [], repelling: [], requested: new Map(), lowestPriority: Number.POSITIVE_INFINITY }
}

/** Throws ZodError or QuantityError when the pod's spec makes no sense. */
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

/** All nodes with the pods bound to them; finished pods hold nothing. */
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

/** Where no pod that one of the terms means may run beside this one. */
export function antiAffinityOf({ requirements }: PodDemand): readonly PodTerm[] {
  return requirements.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution
}

const available = new WeakMap<Node, ReadonlyMap<string, bigint>>()

/** What pods may have of a node, read once as all pods ask for it; nothing where the node does not say. */
export function availableOn(node: Node): ReadonlyMap<string, bigint> {
  const known = available.get(node)
  if (known !== undefined) return known
  const { allocatable, capacity } = node.status
  const amounts = amountsOf(Object.keys(allocatable).length > 0 ? allocatable : capacity)
  available.set(node, amounts)
  return amounts
}

/** Containers and sidecars run together; other init containers one at a time, beside the sidecars started before them. */
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
