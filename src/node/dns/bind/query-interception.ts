import type { Run } from '../../../host/index.ts'
import { dnsPort } from '../../../model/dns-ports.ts'
import { describeError } from '../../../model/errors.ts'
import type { Ip } from '../../../model/ip.ts'
import type { Logger } from '../../../observe/index.ts'
import { ClusterDnsAddresses } from './cluster-dns-addresses.ts'
import { NotrackRules } from './notrack-rules.ts'

/** Each attempt starts a program. */
const retryDelayMs = 30_000

/**
 * Brings queries to the cluster's DNS to this node: its addresses are on this node, and notrack rules keep the queries away from the rules of its
 * Service. Without the rules the queries go to the endpoints of the Service.
 */
export class QueryInterception {
  readonly #addresses: ClusterDnsAddresses
  readonly #rules: NotrackRules
  readonly #log: Logger
  #retryAtMs = 0

  constructor(addresses: readonly Ip[], log: Logger, run?: Run) {
    this.#addresses = new ClusterDnsAddresses(addresses, log, run)
    this.#rules = new NotrackRules({ addresses, port: dnsPort, log })
    this.#log = log
  }

  get isActive(): boolean {
    return this.#rules.areInstalled
  }

  /**
   * Assigns the addresses, and those again that another program has removed, as systemd-networkd does at its restart with addresses that it
   * does not know: with rules and without an address, queries would leave the node. After a failure it waits for half a minute.
   */
  async keepAddresses(): Promise<void> {
    if (performance.now() < this.#retryAtMs) return
    try {
      await this.#addresses.assign()
    } catch (error) {
      this.#retryAtMs = performance.now() + retryDelayMs
      this.#log.error('the address of the cluster DNS could not be assigned to this node', {
        error: describeError(error),
      })
    }
  }

  /** Installs the rules while this node serves, and removes them while it does not. */
  async setServing(serves: boolean): Promise<void> {
    if (serves && !this.#rules.areWanted) await this.#rules.install()
    if (!serves && this.#rules.areWanted) await this.#rules.remove()
  }

  /**
   * Sends queries to the endpoints of the Service. The addresses stay until `removeAddresses`, so that queries on their way still get
   * answers; new ones of this node's own programs come from `nodeAddress`, which stays.
   */
  async stop(nodeAddress?: Ip): Promise<void> {
    await this.#rules.remove()
    if (nodeAddress === undefined) return
    await this.#addresses
      .release(nodeAddress)
      .catch((error) => this.#log.warn('queries of this node keep the address of the cluster DNS as source', { error }))
  }

  async removeAddresses(): Promise<void> {
    await this.#addresses
      .remove()
      .catch((error) => this.#log.warn('the address of the cluster DNS could not be removed', { error }))
  }
}
