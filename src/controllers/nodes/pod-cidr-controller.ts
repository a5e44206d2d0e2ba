import { isDeepStrictEqual } from 'node:util'
import { listPages, orAbsent } from '../../client/index.ts'
import type { Component } from '../../loop/component.ts'
import type { Cidr } from '../../model/ip.ts'
import type { BaseContext } from '../base-context.ts'
import type { Node } from '../objects/node.ts'
import { nodeType } from '../objects/types.ts'
import { Controller, watchKeys } from '../runtime/controller.ts'
import type { ObjectWriter } from '../runtime/object-writer.ts'
import { restAfterPass } from '../runtime/work-queue.ts'
import { assignPodCidrs, findForeignCidrs, type Refusal, type TakenCidrs } from './pod-cidrs.ts'

/** The single key of the queue: each pass serves every node without a network. */
const everything = 'nodes'

/**
 * Assigns every node its part of the pod networks (`spec.podCIDR`, `spec.podCIDRs`). It lists the assigned networks from the server first: a cache
 * may lack what another process assigned just before it died.
 */
export function createPodCidrController(kit: BaseContext, clusterCidrs: readonly Cidr[]): Component {
  const { client, caches, events, metrics } = kit
  const log = kit.log.child('nodeipam')
  const nodes = caches.of(nodeType)
  const writer = caches.writer(nodeType)
  const foreign = new ForeignCidrWarnings(clusterCidrs, events, log)

  const reconcile = async (_key: string, { signal }: { signal: AbortSignal }) => {
    foreign.warn([...nodes.list()])
    if (![...nodes.list()].some(isWaiting)) return undefined
    const { items } = await listPages(client, { resource: nodeType.resource }, { signal })
    const all = items.map((item) => nodes.note(item))
    const waiting = new Map(all.filter(isWaiting).map((node) => [node.metadata.name, node]))
    const { assigned, refused } = assignPodCidrs(clusterCidrs, all.map(takenBy), [...waiting.keys()])
    for (const [name, podCIDRs] of assigned) {
      const node = waiting.get(name)
      if (node !== undefined) await writePodCidrs(writer, node, podCIDRs, signal)
    }
    for (const [name, refusal] of refused) {
      const node = waiting.get(name)
      if (node !== undefined) events.record(subjectOf(node), 'Warning', 'CIDRNotAvailable', describeRefusal(refusal))
    }
    return undefined
  }

  const isSame = (old: Node, next: Node) =>
    isWaiting(old) === isWaiting(next) && isDeepStrictEqual(takenBy(old), takenBy(next))
  const watches = [watchKeys(nodes, () => [everything], { isSame })]
  return new Controller({ name: 'nodeipam', watches, reconcile, workers: 1, rest: restAfterPass, metrics, log })
}

/** Warns of pod networks outside the cluster networks, once for each node: a node's networks do not change. */
class ForeignCidrWarnings {
  readonly #clusterCidrs: readonly Cidr[]
  readonly #events: BaseContext['events']
  readonly #log: BaseContext['log']
  #warned: ReadonlySet<string> = new Set()

  constructor(clusterCidrs: readonly Cidr[], events: BaseContext['events'], log: BaseContext['log']) {
    this.#clusterCidrs = clusterCidrs
    this.#events = events
    this.#log = log
  }

  warn(nodes: readonly Node[]): void {
    const byName = new Map(nodes.map((node) => [node.metadata.name, node]))
    const found = new Set<string>()
    for (const { node: name, cidr } of findForeignCidrs(this.#clusterCidrs, nodes.map(takenBy))) {
      const node = byName.get(name)
      if (node === undefined) continue
      const key = `${node.metadata.uid} ${cidr}`
      if (!this.#warned.has(key)) this.#warnOf(node, cidr)
      found.add(key)
    }
    this.#warned = found
  }

  #warnOf(node: Node, cidr: string): void {
    const why = `${cidr} is in no cluster network (${this.#clusterCidrs.join()}): no node routes it`
    this.#events.record(subjectOf(node), 'Warning', 'InvalidPodCIDR', why)
    this.#log.warn('a node has a pod network outside the cluster networks', { node: node.metadata.name, cidr })
  }
}

/** Writes a node's networks; a node that was deleted or replaced meanwhile needs nothing. */
async function writePodCidrs(
  writer: ObjectWriter<Node>,
  { metadata }: Node,
  podCIDRs: readonly Cidr[],
  signal: AbortSignal,
): Promise<void> {
  const { name, uid, resourceVersion } = metadata
  const patch = { metadata: { uid, resourceVersion }, spec: { podCIDR: podCIDRs[0], podCIDRs } }
  await orAbsent(writer.patch({ metadata: { name } }, { kind: 'merge', patch }, signal))
}

function isWaiting({ spec, metadata }: Node): boolean {
  return spec.podCIDRs.length === 0 && spec.podCIDR === '' && metadata.deletionTimestamp === undefined
}

function takenBy({ metadata, spec }: Node): TakenCidrs {
  const podCIDRs = spec.podCIDRs.length === 0 && spec.podCIDR !== '' ? [spec.podCIDR] : spec.podCIDRs
  return { name: metadata.name, podCIDRs }
}

function describeRefusal({ cidr, largest }: Refusal): string {
  const holder = largest === undefined ? '' : `; node ${largest.node} has ${largest.cidr} of it`
  return `${cidr} has no free network for this node${holder}`
}

function subjectOf({ metadata }: Node) {
  return { apiVersion: 'v1', kind: 'Node', metadata }
}
