import { KeptFiles } from '../../../host/index.ts'
import { dnsPort } from '../../../model/dns-ports.ts'
import { describeError } from '../../../model/errors.ts'
import type { Ip } from '../../../model/ip.ts'
import type { Logger } from '../../../observe/index.ts'
import { type ConfigMapData, type LoadedCorefile, loadCorefile } from '../configuration/corefile-loader.ts'
import { type FoundInputs, readInputs, readLinkAddresses } from '../configuration/inputs.ts'
import { type ConfiguredDns, configurationSeries } from '../configuration/metrics.ts'
import { boundLinks, planServer, type ServerPlan } from '../configuration/server-plan.ts'
import { optionsWithoutEffect } from '../configuration/without-effect.ts'
import type { ZoneFeed } from '../feed/zone-feed.ts'
import type { Series } from '../metrics/series.ts'
import { hostsEntries } from '../plugins/hosts/metrics.ts'
import type { AddressFailure } from '../threads/listen-failures.ts'
import { encodeName, foldName, isUnder } from '../wire/name.ts'
import type { DnsServer } from './dns-server.ts'
import { ListenRetry } from './listen-retry.ts'
import type { DnsSettings } from './settings.ts'

export interface ConfigurationParts {
  readonly settings: DnsSettings
  readonly server: DnsServer
  readonly feed: ZoneFeed
  readonly log: Logger
  /** Reads the addresses of this node's links; absent: from the system. */
  readonly readLinks?: typeof readLinkAddresses
}

/** The configuration that is in effect. */
interface ActiveConfiguration {
  readonly plan: ServerPlan
  readonly from: string
  /** All text that the configuration was read from, and the addresses of node and links: equal text is an equal configuration. */
  readonly text: string
  readonly inputs: Pick<FoundInputs, 'nameservers'>
  readonly configured: Omit<ConfiguredDns, 'failedReloads'>
}

/** Reads the Corefile with the files that it names, and puts it into effect. A Corefile that cannot be used changes nothing. */
export class DnsConfiguration {
  readonly #parts: ConfigurationParts
  /** Undefined until it is known; `none` where the cluster has none. */
  #configMap: ConfigMapData | 'none' | undefined
  readonly #files = new KeptFiles()
  /** The Corefile as it was read last, in effect or not. */
  #loaded: LoadedCorefile | undefined
  #active: ActiveConfiguration | undefined
  readonly #listening = new ListenRetry()
  #badCorefile: string | undefined
  #missing: readonly string[] = []
  #fault: string | undefined
  #failedReloads = 0

  constructor(parts: ConfigurationParts) {
    this.#parts = parts
  }

  /** The data of the ConfigMap `coredns`; undefined where the cluster has none. */
  set configMap(data: ConfigMapData | undefined) {
    this.#configMap = data ?? 'none'
  }

  /** It is known whether a file, the ConfigMap or the built-in Corefile configures DNS. */
  get isOriginKnown(): boolean {
    return this.#parts.settings.corefile !== undefined || this.#configMap !== undefined
  }

  /** The reason why some questions get no answer; undefined where there is none. */
  get problem(): string | undefined {
    return this.#badCorefile ?? this.#listening.problem ?? this.#fault
  }

  get from(): string | undefined {
    return this.#active?.from
  }

  get lameduckMs(): number {
    return this.#active?.plan.lameduckMs ?? 0
  }

  /** Returns whether queries to port 53 of that address are answered, by one thread at least. */
  serves(address: Ip): boolean {
    const isThere = (one: { readonly address: string; readonly port: number }) =>
      one.address === address && one.port === dnsPort
    const isPlanned = this.#active?.plan.threads.serving.addresses.some(isThere) === true
    return isPlanned && !this.#listening.failures.some((failure) => isThere(failure) && !failure.isServed)
  }

  series(): Iterable<Series> {
    const failedReloads = this.#failedReloads
    return this.#active ? configurationSeries({ ...this.#active.configured, failedReloads }) : []
  }

  /** Notes addresses on which a thread that was started again cannot listen. A later `reload` tries again. */
  noteListenFailures(failures: readonly AddressFailure[]): void {
    this.#listening.note(failures, true)
    this.#reportListenFailures()
  }

  /** Reads the Corefile and its files again, and puts into effect what differs. */
  async reload(): Promise<void> {
    try {
      await this.#apply()
      this.#badCorefile = undefined
    } catch (error) {
      this.#reportBadCorefile(describeError(error))
    }
  }

  async #apply(): Promise<void> {
    const { settings, server, feed } = this.#parts
    const configMap = this.#configMap === 'none' ? undefined : this.#configMap
    const { corefile: file, dnsConfigMapFiles: configMapFiles = [] } = settings
    const loaded = loadCorefile({ ...settings, file, configMap, configMapFiles }, this.#loaded)
    this.#loaded = loaded
    const found = await readInputs(loaded, this.#active?.inputs, this.#files)
    this.#reportMissing(found)
    const { nodeAddress } = settings
    const linkAddresses = this.#addressesOf(boundLinks(loaded.corefile))
    const files = [[...found.nameservers], [...found.hostsTexts], [...found.pemTexts]]
    const text = JSON.stringify([loaded.text, nodeAddress, [...linkAddresses], ...files])
    if (this.#active !== undefined && text === this.#active.text) return this.#listenAgain(this.#active)
    const { clusterSources } = server
    const inputs = { ...settings, nodeAddress, ...found, clusterSources, linkAddresses }
    const plan = planServer(loaded.corefile, inputs)
    await feed.changeZones(plan.zones)
    this.#listening.note(await server.configure(plan, feed.tables), true)
    const configured = { ...loaded, hostsEntries: entriesOf(loaded, found), atMs: Date.now() }
    this.#active = { plan, from: loaded.from, text, inputs: found, configured }
    this.#reportApplied(loaded, this.#active)
  }

  /** Returns the addresses that those links have now; a link may come after the agent has started, as a bridge of pods does. */
  #addressesOf(links: ReadonlySet<string>): ReadonlyMap<string, readonly Ip[]> {
    if (links.size === 0) return new Map()
    const { readLinks = readLinkAddresses } = this.#parts
    return new Map([...readLinks()].filter(([name]) => links.has(name)))
  }

  /** Listens on addresses that were not there before: one may come with a link, or with the failover of another node. */
  async #listenAgain({ plan }: ActiveConfiguration): Promise<void> {
    if (!this.#listening.isDue) return
    const { server, feed, log } = this.#parts
    const before = this.#listening.failures
    this.#listening.note(await server.configure(plan, feed.tables), false)
    const after = this.#listening.failures
    for (const { address, port } of before)
      if (!after.some((one) => one.address === address && one.port === port))
        log.info('DNS listens on an address on which it could not', { address, port })
  }

  #reportApplied(loaded: LoadedCorefile, { plan, from }: ActiveConfiguration): void {
    const { log, settings } = this.#parts
    const { clusterDomain } = settings
    this.#reportListenFailures()
    if (!servesDomain(plan, clusterDomain))
      log.warn('the Corefile does not serve the cluster domain (--cluster-domain)', {
        clusterDomain,
        from,
      })
    for (const option of optionsWithoutEffect(loaded)) log.warn('an option of the Corefile has no effect', { option })
    log.info('DNS is configured', { from, blocks: plan.threads.serving.blocks.map(({ id }) => id) })
  }

  #reportListenFailures(): void {
    for (const failure of this.#listening.failures)
      this.#parts.log.warn('DNS cannot listen on an address', { ...failure })
  }

  #reportBadCorefile(error: string): void {
    if (error === this.#badCorefile) return
    this.#badCorefile = error
    this.#failedReloads += 1
    const consequence =
      this.#active === undefined
        ? 'DNS is not served until it is corrected'
        : 'the configuration before it stays in effect'
    this.#parts.log.error(`the Corefile cannot be used; ${consequence}`, { error })
  }

  #reportMissing({ missing, faults }: FoundInputs): void {
    const before = new Set(this.#missing)
    this.#missing = missing
    this.#fault = faults[0]
    for (const what of missing)
      if (!before.has(what))
        this.#parts.log.warn('a file that the Corefile names is missing; DNS serves without it', { missing: what })
  }
}

function entriesOf({ corefile }: LoadedCorefile, { hostsTexts }: FoundInputs): ConfiguredDns['hostsEntries'] {
  return hostsEntries(
    corefile.blocks.flatMap(({ hosts }) => hosts ?? []),
    hostsTexts,
  )
}

/** Returns whether a zone of the plan holds the cluster domain, or the plan has no zone of the cluster at all. */
function servesDomain({ zones }: ServerPlan, clusterDomain: string): boolean {
  const domain = foldName(encodeName(clusterDomain))
  return zones.length === 0 || zones.some((settings) => settings.zones.some((zone) => isUnder(domain, zone)))
}
