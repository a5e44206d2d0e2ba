import { setTimeout as sleep } from 'node:timers/promises'
import type { Component, Health, HealthLevel } from '../../../loop/component.ts'
import { Periodic } from '../../../loop/periodic.ts'
import { dnsPort } from '../../../model/dns-ports.ts'
import type { Cidr } from '../../../model/ip.ts'
import { QueryInterception } from '../bind/query-interception.ts'
import type { ConfigMapData } from '../configuration/corefile-loader.ts'
import { ZoneFeed } from '../feed/zone-feed.ts'
import type { SeriesSample } from '../metrics/series.ts'
import type { Explanation } from '../threads/messages.ts'
import { DnsConfiguration } from './configuration.ts'
import { DnsServer } from './dns-server.ts'
import { type AnswerText, answerText, serviceOf } from './explain.ts'
import { findSilence } from './find-silence.ts'
import type { DnsPlaneParts } from './settings.ts'

/** How often files are checked: a change of a mounted ConfigMap gives no event. */
const checkIntervalMs = 2_000

interface ExplainedAnswer extends Omit<Explanation, 'message'> {
  /** Absent where the plugin gives no answer. */
  readonly answer?: AnswerText
  readonly object?: string
  /** Milliseconds since 1970. */
  readonly changedAtMs?: number
}

/** The cluster's DNS on this node: its lifecycle, its health and its answers to the agent. */
export class DnsPlane implements Component {
  readonly name = 'dns'
  readonly feed: ZoneFeed
  readonly #parts: DnsPlaneParts
  readonly #interception: QueryInterception
  readonly #server: DnsServer
  readonly #configuration: DnsConfiguration
  readonly #check: Periodic
  #isStopping = false
  #reloading: Promise<void> = Promise.resolve()
  #health: Health = { level: 'unknown', message: 'not started', sinceMs: 0 }

  constructor(parts: DnsPlaneParts) {
    this.#parts = parts
    const { settings, log, run } = parts
    this.#interception = new QueryInterception(settings.clusterDns, log, run)
    this.feed = new ZoneFeed({
      ...parts,
      onTable: (index, table) => this.#server.changeTable(index, table),
      onSynced: () => void this.#updateInterception(),
    })
    this.#server = new DnsServer({
      clusterCidrs: settings.clusterCidrs,
      unready: () => this.#unready(),
      processMetrics: parts.processMetrics ?? (async () => ''),
      series: () => [...this.#configuration.series(), ...this.feed.series()],
      onListenFailures: (failures) => this.#configuration.noteListenFailures(failures),
      log,
    })
    this.#configuration = new DnsConfiguration({ settings, log, server: this.#server, feed: this.feed })
    this.#check = new Periodic(() => this.reload(), {
      intervalMs: checkIntervalMs,
      onError: (error) => log.error('the configuration of DNS could not be checked', { error }),
    })
  }

  /**
   * Serves as soon as it is known which Corefile configures DNS. Until the names of the cluster were listed, questions for them get SERVFAIL, and
   * queries to the cluster's DNS go to its Service.
   */
  async start(): Promise<void> {
    this.#parts.applied.register(this.name)
    await this.#interception.keepAddresses()
    this.#server.updateSources()
    this.feed.start()
    await this.reload()
    this.#check.start()
    this.#reportHealth()
  }

  /** Sends queries to the Service first, then answers those that still arrive for the Corefile's lameduck time, or until the signal. */
  async stop(scope: { signal: AbortSignal }): Promise<void> {
    this.#isStopping = true
    await this.#check.stop(scope)
    await this.#reloading
    await this.#interception.stop(this.#parts.settings.nodeAddress)
    await this.#waitLameduck(scope.signal)
    await this.#server.stopHttp()
    await this.feed.stop(scope)
    await this.#server.stopThreads()
    await this.#interception.removeAddresses()
    this.#setHealth('stopped', 'stopped')
  }

  health(): Health {
    return this.#health
  }

  /** Asks the cluster's DNS on this node over the network, unless it is known that other nodes answer instead. */
  async examine(): Promise<string | undefined> {
    const { clusterDns, clusterDomain } = this.#parts.settings
    const [address] = clusterDns
    if (this.#health.level !== 'ok' || address === undefined) return undefined
    return findSilence(address, dnsPort, clusterDomain)
  }

  /** True while queries to this node's own address are answered: then it can serve for nodes that do not. */
  get servesNodeAddress(): boolean {
    const { nodeAddress } = this.#parts.settings
    return nodeAddress !== undefined && this.feed.synced && this.#configuration.serves(nodeAddress)
  }

  /** Changes the addresses of the nodes and the networks of their Pods: the sources that are answered on this node's address. */
  changeNodes(networks: readonly Cidr[]): void {
    this.#server.changeNodeNetworks(networks)
  }

  /** Changes the data of the ConfigMap `coredns`; undefined where there is none. Before the first call only a file configures DNS. */
  changeConfigMap(data: ConfigMapData | undefined): void {
    this.#configuration.configMap = data
    void this.reload()
  }

  /** Reads Corefile and files, and puts into effect what differs. A Corefile that cannot be used changes nothing. */
  reload(): Promise<void> {
    this.#reloading = this.#reloading.then(() => this.#reloadOnce())
    return this.#reloading
  }

  /**
   * Explains the answer to a question: its text, the plugin that gives it, and when the object behind it last changed. Throws
   * DnsFormatError for what is no name or no type.
   */
  async explain(name: string, type: string): Promise<ExplainedAnswer | undefined> {
    const found = await this.#server.explain(name, type)
    if (found === undefined) return undefined
    const { plugin, ageMs } = found
    const service = serviceOf(name, found)
    const changedAtMs = service === undefined ? undefined : this.feed.changedAtMs(service)
    const answer = answerText(found)
    const object = changedAtMs !== undefined && { object: `Service ${service}`, changedAtMs }
    return { plugin, ageMs, ...(answer && { answer }), ...object }
  }

  /** The present values of the metrics of those names, of all threads. */
  read(names: readonly string[]): Promise<readonly SeriesSample[]> {
    return this.#server.read(names)
  }

  async #reloadOnce(): Promise<void> {
    if (!this.#isStopping) await this.#interception.keepAddresses()
    if (!this.#configuration.isOriginKnown) return this.#reportHealth()
    await this.#configuration.reload()
    await this.#updateInterception()
  }

  /** Queries to the cluster's DNS come to this node exactly while it answers all of its addresses. */
  async #updateInterception(): Promise<void> {
    const { clusterDns } = this.#parts.settings
    const answersAll = clusterDns.every((address) => this.#configuration.serves(address))
    await this.#interception.setServing(!this.#isStopping && this.feed.synced && answersAll)
    this.#reportHealth()
  }

  #reportHealth(): void {
    const { isOriginKnown, problem, from } = this.#configuration
    if (problem !== undefined) this.#setHealth('degraded', problem)
    else if (!isOriginKnown) this.#setHealth('unknown', 'waiting for the ConfigMap kube-system/coredns')
    else if (!this.feed.synced) this.#setHealth('unknown', 'waiting for the first list of Services and namespaces')
    else if (!this.#interception.isActive) this.#setHealth('degraded', 'queries to the cluster DNS go to its Service')
    else this.#setHealth('ok', `${this.feed.names} names, configured by ${from}`)
  }

  #unready(): readonly string[] {
    if (this.#isStopping) return ['Shutting down']
    return this.feed.synced ? [] : ['kubernetes']
  }

  async #waitLameduck(signal: AbortSignal): Promise<void> {
    const { lameduckMs } = this.#configuration
    if (lameduckMs === 0) return
    this.#parts.log.info('DNS goes on answering for the lameduck time of the Corefile', { lameduckMs })
    await sleep(lameduckMs, undefined, { signal }).catch(() => {})
  }

  #setHealth(level: HealthLevel, message: string): void {
    const sinceMs = this.#health.level === level ? this.#health.sinceMs : Date.now()
    this.#health = { level, message, sinceMs }
  }
}
