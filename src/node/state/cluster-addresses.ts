import type { Cidr, Ip } from '../../model/ip.ts'

/** The watched resources, as named in API paths. */
export type ClusterResource = 'nodes' | 'servicecidrs'

interface Interest {
  readonly wanted: PromiseWithResolvers<void>
  readonly known: PromiseWithResolvers<void>
}

/**
 * Addresses that the cluster uses for itself: those of all nodes and the networks of Services. Large clusters have many nodes, so
 * nothing is followed before it is wanted.
 */
export class ClusterAddresses {
  readonly #nodes = new Map<string, readonly Ip[]>()
  readonly #listeners = new Set<() => void>()
  readonly #interests: Readonly<Record<ClusterResource, Interest>> = {
    nodes: { wanted: Promise.withResolvers(), known: Promise.withResolvers() },
    servicecidrs: { wanted: Promise.withResolvers(), known: Promise.withResolvers() },
  }
  readonly #waitAtMostMs: number
  #byAddress: ReadonlyMap<Ip, string> | undefined
  #serviceCidrs: readonly Cidr[] = []

  /** A server that does not show its nodes must not keep Services from being served. */
  constructor(waitAtMostMs = 10_000) {
    this.#waitAtMostMs = waitAtMostMs
  }

  /** Each address with the name of a node that has it. */
  get nodes(): ReadonlyMap<Ip, string> {
    this.#byAddress ??= new Map([...this.#nodes].flatMap(([name, ips]) => ips.map((ip) => [ip, name] as const)))
    return this.#byAddress
  }

  get serviceCidrs(): readonly Cidr[] {
    return this.#serviceCidrs
  }

  /** Resolves when the addresses of these are known, or cannot be. */
  async want(...resources: readonly ClusterResource[]): Promise<void> {
    const interests = resources.map((resource) => this.#interests[resource])
    for (const { wanted } of interests) wanted.resolve()
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.#waitAtMostMs)
      timer.unref()
    })
    await Promise.race([Promise.all(interests.map(({ known }) => known.promise)), timeout])
    clearTimeout(timer)
  }

  /** Resolves once `want` has asked for this. */
  whenWanted(resource: ClusterResource): Promise<void> {
    return this.#interests[resource].wanted.promise
  }

  /** It was listed, or cannot be. */
  settle(resource: ClusterResource): void {
    this.#interests[resource].known.resolve()
  }

  setNode(name: string, ips: readonly Ip[]): void {
    if ((this.#nodes.get(name) ?? []).join() === ips.join()) return
    if (ips.length === 0) this.#nodes.delete(name)
    else this.#nodes.set(name, ips)
    this.#changed()
  }

  replaceNodes(nodes: ReadonlyMap<string, readonly Ip[]>): void {
    this.#nodes.clear()
    for (const [name, ips] of nodes) this.#nodes.set(name, ips)
    this.#changed()
  }

  setServiceCidrs(cidrs: readonly Cidr[]): void {
    if (cidrs.join() === this.#serviceCidrs.join()) return
    this.#serviceCidrs = cidrs
    this.#changed()
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #changed(): void {
    this.#byAddress = undefined
    for (const listener of this.#listeners) listener()
  }
}
