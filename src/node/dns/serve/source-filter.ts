import { type Cidr, cidrContains, hostCidr, parseIp } from '../../../model/ip.ts'

const maxRemembered = 10_000

/** Decides whether a source address is one of the cluster's. Remembers decisions, because a node sees the same clients again and again. */
export class SourceFilter {
  #networks: readonly Cidr[]
  readonly #known = new Map<string, boolean>()

  constructor(networks: readonly Cidr[]) {
    this.#networks = networks
  }

  changeNetworks(networks: readonly Cidr[]): void {
    this.#networks = networks
    this.#known.clear()
  }

  allows(address: string): boolean {
    const known = this.#known.get(address)
    if (known !== undefined) return known
    if (this.#known.size >= maxRemembered) this.#known.clear()
    const allowed = this.#decide(address)
    this.#known.set(address, allowed)
    return allowed
  }

  /** Decides for one address. An IPv6 socket shows IPv4 clients as `::ffff:192.0.2.1`, and link-local ones with their zone. */
  #decide(address: string): boolean {
    const ip = parseIp(address.replace(/%.*$/, ''))
    return ip !== undefined && this.#networks.some((network) => cidrContains(network, hostCidr(ip)))
  }
}
