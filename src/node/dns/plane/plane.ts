import { setTimeout as sleep } from 'node:timers/promises'
import type { Component, Health, HealthLevel } from '../../../loop/component.ts'
import { Periodic } from '../../../loop/periodic.ts'
import { dnsPort } from '../../../model/dns-ports.ts'
import { describeError } from '../../../model/errors.ts'
import { type Cidr, hostCidr, type Ip, loopbackCidr } from '../../../model/ip.ts'
import type { Logger } from '../../../observe/index.ts'
import type { AppliedRevisions, LiveNodeState } from '../../state/index.ts'
import { NotrackRules } from '../bind/notrack-rules.ts'
import { OwnAddresses } from '../bind/own-addresses.ts'
import { type ConfigMapData, type LoadedCorefile, loadCorefile } from '../configuration/corefile-loader.ts'
import { type FoundInputs, readInputs, readLinkAddresses } from '../configuration/inputs.ts'
import { type ConfiguredDns, configurationSeries, metricHelp } from '../configuration/metrics.ts'
import { planServer, type ServerPlan } from '../configuration/server-plan.ts'
import { optionsWithoutEffect } from '../configuration/without-effect.ts'
import { ZoneFeed } from '../feed/zone-feed.ts'
import { HttpEndpoints } from '../http/endpoints.ts'
import { renderSeries } from '../metrics/series.ts'
import { hostsEntries } from '../plugins/hosts/metrics.ts'
import type { HostsSettings } from '../plugins/hosts/settings.ts'
import type { ListenFailure } from '../serve/listeners.ts'
import { SourceFilter } from '../serve/source-filter.ts'
import { DnsThreads } from '../threads/dns-threads.ts'
import type { Explanation } from '../threads/messages.ts'
import { recordType, typeCode } from '../wire/codes.ts'
import { readMessage } from '../wire/message.ts'
import { encodeName, foldName, isUnder, nameText } from '../wire/name.ts'

export interface DnsSettings {
  /** The addresses of the cluster's DNS. */
  readonly clusterDns: readonly Ip[]
  readonly clusterDomain: string
  /** The file that configures DNS; the ConfigMap or the built-in one when undefined. */
  readonly corefile: string | undefined
  /** Files of the node that a Corefile of the ConfigMap may name. */
  readonly dnsConfigMapFiles?: readonly string[] | undefined
  /** Where other nodes reach this one. */
  readonly nodeAddress: Ip | undefined
  readonly clusterCidrs: readonly Cidr[]
  readonly env: Readonly<Record<string, string | undefined>>
}

export interface DnsPlaneParts {
  readonly state: LiveNodeState
  readonly applied: AppliedRevisions
  readonly settings: DnsSettings
  readonly log: Logger
}

/** What is in effect. */
interface CurrentConfiguration {
  readonly loaded: LoadedCorefile
  readonly plan: ServerPlan
  readonly text: string
  readonly inputs: Pick<FoundInputs, 'nameservers'>
}

const servingThreads = 2
/** Files are looked at this often, as changes of a mounted ConfigMap give no event. */
const lookIntervalMs = 2_000

/** The cluster's DNS on this node: sockets, names, upstreams, configuration and what tells of them. */
export class DnsPlane implements Component {
  readonly name = 'dns'
  readonly feed: ZoneFeed
  readonly #parts: DnsPlaneParts
  readonly #addresses: OwnAddresses
  readonly #notrackRules: NotrackRules
  readonly #threads: DnsThreads
  readonly #http: HttpEndpoints
  readonly #metricsSources = new SourceFilter([])
  readonly #look: Periodic
  /** Undefined until it is known; `none` where the cluster has none. */
  #configMap: ConfigMapData | 'none' | undefined
  #nodeNetworks: readonly Cidr[] = []
  #current: CurrentConfiguration | undefined
  #configured: Omit<ConfiguredDns, 'failedReloads'> | undefined
  #failures: readonly ListenFailure[] = []
  #badCorefile: string | undefined
  #missing: readonly string[] = []
  #fault: string | undefined
  #failedReloads = 0
  #isStopping = false
  #applying: Promise<void> = Promise.resolve()
  #health: Health = { level: 'unknown', message: 'not started', sinceMs: 0 }

  constructor(parts: DnsPlaneParts) {
    this.#parts = parts
    const { settings, log } = parts
    this.#addresses = new OwnAddresses(settings.clusterDns, log)
    this.#notrackRules = new NotrackRules({ addresses: settings.clusterDns, port: dnsPort, log })
    this.#threads = new DnsThreads({ servingThreads, log })
    this.#http = new HttpEndpoints(
      {
        unready: () => this.#unready(),
        metrics: () => this.#renderMetrics(),
        maySee: (address) => this.#metricsSources.allows(address),
      },
      log,
    )
    this.feed = new ZoneFeed({
      ...parts,
      onTable: (index, table) => this.#threads.changeTable(index, table),
      onSynced: () => void this.#keepNotrackRules(),
    })
    this.#look = new Periodic(() => this.reload(), {
      intervalMs: lookIntervalMs,
      onError: (error) => log.error('the configuration of DNS could not be looked at', { error }),
    })
  }

  /**
   * Serves as soon as the Corefile is known that is to hold, be it that the cluster has no ConfigMap; names that have not been listed yet are
   * SERVFAIL, and queries go to the Service until then.
   */
  async start(): Promise<void> {
    const { applied, log } = this.#parts
    applied.register(this.name)
    try {
      await this.#addresses.bind()
    } catch (error) {
      log.error('the address of the cluster DNS could not be put on this node', { error: describeError(error) })
    }
    this.#changeSources()
    this.feed.start()
    await this.reload()
    this.#look.start()
    this.#reportHealth()
  }

  /** Queries go to the Service first; what still comes here is answered for the Corefile's lameduck time, or until the signal. */
  async stop(scope: { signal: AbortSignal }): Promise<void> {
    this.#isStopping = true
    await this.#look.stop(scope)
    await this.#applying
    await this.#notrackRules.remove()
    await this.#beLameduck(scope.signal)
    await this.#http.stop()
    await this.feed.stop(scope)
    await this.#threads.stop()
    await this.#addresses.release().catch((error) => this.#parts.log.warn('an address stays behind', { error }))
    this.#setHealth('stopped', 'stopped')
  }

  health(): Health {
    return this.#health
  }

  /** Whether queries to this node's own address are answered: then it can stand in for a node that does not serve. */
  get servesNodeAddress(): boolean {
    const { nodeAddress } = this.#parts.settings
    if (nodeAddress === undefined || !this.feed.synced) return false
    return this.#serves(nodeAddress)
  }

  /** The nodes' addresses and the networks of their pods: who is answered on this node's address. */
  changeNodes(networks: readonly Cidr[]): void {
    this.#nodeNetworks = networks
    this.#changeSources()
  }

  /** The data of the ConfigMap `coredns`, undefined where there is none. Nothing is answered before the first call, unless a file configures DNS. */
  changeConfigMap(data: ConfigMapData | undefined): void {
    this.#configMap = data ?? 'none'
    void this.reload()
  }

  /** Looks at Corefile and files, and puts into effect what differs. A Corefile that makes no sense changes nothing. */
  reload(): Promise<void> {
    this.#applying = this.#applying.then(() => this.#reloadOnce())
    return this.#applying
  }

  /** How a question is answered here, by whom, and when what it tells of last changed. */
  async explain(
    name: string,
    type: string,
  ): Promise<(Omit<Explanation, 'message'> & { object?: string; changedAtMs?: number }) | undefined> {
    const found = await this.#threads.explain(makeQuestion(name, type), dnsPort)
    if (found === undefined) return undefined
    const { plugin, ageMs, message } = found
    const service = plugin === 'kubernetes' ? serviceOf(pointerOf(message) ?? name) : undefined
    const changedAtMs = service === undefined ? undefined : this.feed.changedAtMs(service)
    return {
      plugin,
      ageMs,
      ...(changedAtMs !== undefined && { object: `Service ${service}`, changedAtMs }),
    }
  }

  async #reloadOnce(): Promise<void> {
    if (!this.#isOriginKnown) return this.#reportHealth()
    try {
      await this.#applyCorefile()
      this.#badCorefile = undefined
    } catch (error) {
      this.#tellBadCorefile(describeError(error))
    }
    await this.#keepNotrackRules()
  }

  get #isOriginKnown(): boolean {
    return this.#parts.settings.corefile !== undefined || this.#configMap !== undefined
  }

  #tellBadCorefile(error: string): void {
    if (error === this.#badCorefile) return
    this.#badCorefile = error
    this.#failedReloads += 1
    const goesOn = this.#current !== undefined
    const consequence = goesOn ? 'what was configured before goes on' : 'DNS is not served until it is corrected'
    this.#parts.log.error(`the Corefile cannot be used; ${consequence}`, { error })
  }

  #tellMissing({ missing, faults }: FoundInputs): void {
    const before = new Set(this.#missing)
    this.#missing = missing
    this.#fault = faults[0]
    for (const what of missing)
      if (!before.has(what)) this.#parts.log.warn('DNS does without a file that the Corefile names', { missing: what })
  }

  async #applyCorefile(): Promise<void> {
    const { settings, log } = this.#parts
    const configMap = this.#configMap === 'none' ? undefined : this.#configMap
    const { corefile: file, dnsConfigMapFiles: configMapFiles = [] } = settings
    const loaded = loadCorefile({ ...settings, file, configMap, configMapFiles })
    const found = await readInputs(loaded, this.#current?.inputs)
    const inputs = { ...settings, ...found, clusterSources: this.#sources() }
    this.#tellMissing(found)
    const text = JSON.stringify([loaded.text, [...inputs.nameservers], [...inputs.hostsTexts], [...inputs.pemTexts]])
    if (text === this.#current?.text) return
    const plan = planServer(loaded.corefile, inputs)
    await this.feed.changeZones(plan.zones)
    this.#failures = await this.#threads.configure(plan.threads, this.feed.tables)
    for (const failure of this.#failures) log.warn('DNS does not listen there', { ...failure })
    await this.#http.change(plan.http)
    this.#current = { loaded, plan, text, inputs: { nameservers: found.nameservers } }
    this.#configured = {
      ...loaded,
      hostsEntries: hostsEntries(hostsOf(loaded.corefile), inputs.hostsTexts),
      atMs: Date.now(),
    }
    if (!servesDomain(plan, settings.clusterDomain))
      log.warn('the Corefile does not serve the zone below which pods look for names (--cluster-domain)', {
        clusterDomain: settings.clusterDomain,
        from: loaded.from,
      })
    for (const option of optionsWithoutEffect(loaded)) log.warn('an option of the Corefile has no effect', { option })
    log.info('DNS is configured', { from: loaded.from, blocks: plan.threads.serving.blocks.map(({ id }) => id) })
  }

  /** Installs the notrack rules exactly while this node answers on all addresses of the cluster DNS. */
  async #keepNotrackRules(): Promise<void> {
    const serves =
      !this.#isStopping && this.feed.synced && this.#parts.settings.clusterDns.every((address) => this.#serves(address))
    if (serves && !this.#notrackRules.areWanted) await this.#notrackRules.install()
    if (!serves && this.#notrackRules.areWanted) await this.#notrackRules.remove()
    this.#reportHealth()
  }

  #serves(address: Ip): boolean {
    const addresses = this.#current?.plan.threads.serving.addresses ?? []
    return addresses.some((one) => one.address === address && one.port === dnsPort) && !this.#failsOn(address)
  }

  #failsOn(address: Ip): boolean {
    return this.#failures.some((failure) => failure.address === address && failure.port === dnsPort)
  }

  #reportHealth(): void {
    const [failure] = this.#failures
    if (this.#badCorefile !== undefined) this.#setHealth('degraded', this.#badCorefile)
    else if (!this.#isOriginKnown) this.#setHealth('unknown', 'waiting for the ConfigMap kube-system/coredns')
    else if (failure) this.#setHealth('degraded', failure.message)
    else if (this.#fault !== undefined) this.#setHealth('degraded', this.#fault)
    else if (!this.feed.synced) this.#setHealth('unknown', 'waiting for the first list of Services and namespaces')
    else if (!this.#notrackRules.areInstalled)
      this.#setHealth('degraded', 'queries to the cluster DNS go through its Service')
    else this.#setHealth('ok', `${this.feed.names} names, configured by ${this.#current?.loaded.from}`)
  }

  #sources(): readonly Cidr[] {
    const { clusterCidrs } = this.#parts.settings
    const own = [...readLinkAddresses().values()].flat().map(hostCidr)
    return [...clusterCidrs, ...this.#nodeNetworks, ...own, loopbackCidr('IPv4'), loopbackCidr('IPv6')]
  }

  #changeSources(): void {
    const networks = this.#sources()
    this.#metricsSources.changeNetworks(networks)
    this.#threads.changeSources(networks)
  }

  async #beLameduck(signal: AbortSignal): Promise<void> {
    const lameduckMs = this.#current?.plan.lameduckMs ?? 0
    if (lameduckMs === 0) return
    this.#parts.log.info('DNS goes on answering for a while, as the Corefile says', { lameduckMs })
    await sleep(lameduckMs, undefined, { signal }).catch(() => {})
  }

  #unready(): readonly string[] {
    if (this.#isStopping) return ['Shutting down']
    return this.feed.synced ? [] : ['kubernetes']
  }

  async #renderMetrics(): Promise<string> {
    const failedReloads = this.#failedReloads
    const configured = this.#configured ? configurationSeries({ ...this.#configured, failedReloads }) : []
    const own = [...configured, ...this.feed.series(), ...this.#http.series()]
    return renderSeries([...(await this.#threads.series()), ...own], metricHelp)
  }

  #setHealth(level: HealthLevel, message: string): void {
    const sinceMs = this.#health.level === level ? this.#health.sinceMs : Date.now()
    this.#health = { level, message, sinceMs }
  }
}

function hostsOf({ blocks }: LoadedCorefile['corefile']): readonly HostsSettings[] {
  return blocks.flatMap(({ hosts }) => hosts ?? [])
}

/** The Service that a name of the cluster's zone is of: `namespace/name`. */
function serviceOf(name: string): string | undefined {
  const labels = name.toLowerCase().replace(/\.$/, '').split('.')
  const at = labels.lastIndexOf('svc')
  return at < 2 ? undefined : `${labels[at - 1]}/${labels[at - 2]}`
}

/** Where a reverse answer leads. */
function pointerOf(message: Uint8Array | undefined): string | undefined {
  if (message === undefined) return undefined
  const bytes = Buffer.from(message)
  const pointer = readMessage(bytes, bytes.length).answer.find(({ type }) => type === recordType.PTR)
  return pointer && nameText(pointer.data)
}

function makeQuestion(name: string, type: string): Buffer {
  const wireName = encodeName(name)
  const message = Buffer.alloc(12 + wireName.length + 4)
  message.writeUInt16BE(0x0100, 2)
  message.writeUInt16BE(1, 4)
  wireName.copy(message, 12)
  message.writeUInt16BE(typeCode(type) ?? 1, 12 + wireName.length)
  message.writeUInt16BE(1, 14 + wireName.length)
  return message
}

/** Also one that has no zone of the cluster at all. */
function servesDomain({ zones }: ServerPlan, clusterDomain: string): boolean {
  const domain = foldName(encodeName(clusterDomain))
  return zones.length === 0 || zones.some((settings) => settings.zones.some((zone) => isUnder(domain, zone)))
}
