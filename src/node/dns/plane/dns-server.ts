import { dnsPort } from '../../../model/dns-ports.ts'
import { type Cidr, hostCidr, loopbackCidr } from '../../../model/ip.ts'
import type { Logger, Tracer } from '../../../observe/index.ts'
import { readLinkAddresses } from '../configuration/inputs.ts'
import { dnsMetrics } from '../configuration/metrics.ts'
import type { ServerPlan } from '../configuration/server-plan.ts'
import { HttpEndpoints } from '../http/endpoints.ts'
import { renderSeries, type Series, type SeriesSample, sampleSeries } from '../metrics/series.ts'
import { SourceFilter } from '../serve/source-filter.ts'
import { DnsThreads } from '../threads/dns-threads.ts'
import type { AddressFailure } from '../threads/listen-failures.ts'
import type { Explanation } from '../threads/messages.ts'
import type { SharedTable } from '../zone/layout.ts'
import { makeQuestion } from './explain.ts'

export interface DnsServerParts {
  readonly clusterCidrs: readonly Cidr[]
  /** The plugins that are not ready, or the reason why nothing is ready any more. */
  readonly unready: () => readonly string[]
  /** The series of the main thread. */
  readonly series: () => Iterable<Series>
  readonly onListenFailures: (failures: readonly AddressFailure[]) => void
  /** The metrics of the process in text. */
  readonly processMetrics: () => Promise<string>
  /** Absent: queries are not traced. */
  readonly tracer?: Tracer | undefined
  readonly log: Logger
}

const servingThreads = 2

/** The threads and HTTP endpoints that serve a configuration, and the sources that they answer. */
export class DnsServer {
  readonly #parts: DnsServerParts
  readonly #threads: DnsThreads
  readonly #http: HttpEndpoints
  readonly #metricsSources = new SourceFilter([])
  #nodeNetworks: readonly Cidr[] = []

  constructor(parts: DnsServerParts) {
    this.#parts = parts
    const { onListenFailures, tracer, log } = parts
    this.#threads = new DnsThreads({ servingThreads, onListenFailures, tracer, log })
    this.#http = new HttpEndpoints(
      {
        unready: parts.unready,
        metrics: () => this.#renderMetrics(),
        mayRead: (address) => this.#metricsSources.allows(address),
      },
      parts.log,
    )
  }

  /** The cluster's networks, its nodes and their Pods, this node's own addresses, and loopback. */
  get clusterSources(): readonly Cidr[] {
    const own = [...readLinkAddresses().values()].flat().map(hostCidr)
    const { clusterCidrs } = this.#parts
    return [...clusterCidrs, ...this.#nodeNetworks, ...own, loopbackCidr('IPv4'), loopbackCidr('IPv6')]
  }

  /** Changes the addresses of the nodes and the networks of their Pods. */
  changeNodeNetworks(networks: readonly Cidr[]): void {
    this.#nodeNetworks = networks
    this.updateSources()
  }

  /** Reads this node's addresses again. */
  updateSources(): void {
    const networks = this.clusterSources
    this.#metricsSources.changeNetworks(networks)
    this.#threads.changeSources(networks)
  }

  /** Puts a plan into effect. Returns the addresses on which the threads cannot listen. */
  async configure(plan: ServerPlan, tables: readonly SharedTable[]): Promise<readonly AddressFailure[]> {
    // Its sources are those of when it was made, which may be long ago.
    this.updateSources()
    const failures = await this.#threads.configure(plan.threads, tables)
    await this.#http.change(plan.http)
    return failures
  }

  changeTable(index: number, table: SharedTable): void {
    this.#threads.changeTable(index, table)
  }

  /** Returns the answer to a question, and the plugin that gives it. */
  explain(name: string, type: string): Promise<Explanation | undefined> {
    return this.#threads.explain(makeQuestion(name, type), dnsPort)
  }

  /** The present values of the series of those names. */
  async read(names: readonly string[]): Promise<readonly SeriesSample[]> {
    const all = [...(await this.#threads.series()), ...this.#parts.series()]
    return sampleSeries(all.filter(({ name }) => names.includes(name)))
  }

  async stopHttp(): Promise<void> {
    await this.#http.stop()
  }

  async stopThreads(): Promise<void> {
    await this.#threads.stop()
  }

  async #renderMetrics(): Promise<string> {
    const ofThreads = await this.#threads.series()
    const own = renderSeries([...ofThreads, ...this.#parts.series(), ...this.#http.series()], dnsMetrics)
    return own + (await this.#parts.processMetrics())
  }
}
