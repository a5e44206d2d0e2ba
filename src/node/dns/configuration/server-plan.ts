import { dnsPort } from '../../../model/dns-ports.ts'
import { type Cidr, type Ip, ipFamily, parseIp } from '../../../model/ip.ts'
import { specialKindOf } from '../../../model/special-addresses.ts'
import { CorefileError } from '../corefile/errors.ts'
import type { EndpointAddress } from '../corefile/zones.ts'
import type { HttpEndpoint } from '../http/endpoints.ts'
import type { ListenAddress } from '../plugins/client.ts'
import type { ForwardPlugin, ForwardRule, UpstreamTarget } from '../plugins/forward/settings.ts'
import type { KubernetesSettings } from '../plugins/kubernetes/settings.ts'
import type { OrderSettings } from '../plugins/loadbalance/handler.ts'
import type { LoadbalanceSettings } from '../plugins/loadbalance/settings.ts'
import type { ResolvedBlock } from '../plugins/resolved-block.ts'
import type { ServedBlock } from '../plugins/served-block.ts'
import type { Corefile, ServerBlock } from '../plugins/server-block.ts'
import type { ThreadSettings } from '../threads/dns-threads.ts'
import { nameText } from '../wire/name.ts'
import type { ZoneSettings } from '../zone/settings.ts'

/** The inputs of a plan in addition to the Corefile. */
export interface ConfigurationInputs {
  /** The addresses of the cluster's DNS that are on this node. */
  readonly clusterDns: readonly Ip[]
  /** The address at which other nodes reach this one; it answers only the cluster's sources. */
  readonly nodeAddress: Ip | undefined
  /** The addresses of the links that `bind` names, by name. */
  readonly linkAddresses: ReadonlyMap<string, readonly Ip[]>
  /** The nameservers of each resolver file that `forward` names. */
  readonly nameservers: ReadonlyMap<string, readonly Ip[]>
  /** The text of each hosts file and of each file with weights. */
  readonly hostsTexts: ReadonlyMap<string, string>
  /** The text of each PEM file. */
  readonly pemTexts: ReadonlyMap<string, string>
  readonly clusterSources: readonly Cidr[]
}

/** The longest lameduck time: a stopping agent needs the rest of its time to remove its address. */
const maxLameduckMs = 10_000

/** The settings of the threads, the tables and the HTTP endpoints. */
export interface ServerPlan {
  readonly threads: ThreadSettings
  /** The zones of each table. */
  readonly zones: readonly ZoneSettings[]
  readonly http: readonly HttpEndpoint[]
  readonly lameduckMs: number
}

/**
 * The most that one Corefile may ask for. Each is sockets on every thread, a cache, or a table with all names of the cluster; a Corefile of 1
 * MiB could ask for more than any node has.
 */
const limits = { blocks: 256, addresses: 256, tables: 16 } as const
/** How many connections one thread has open. */
const maxConnections = 512

interface PortBlock {
  readonly block: ServerBlock
  readonly port: number
  readonly served: ServedBlock
}

/**
 * Plans the settings of threads, tables and endpoints. Equal Corefiles with equal inputs give equal plans. Throws CorefileError where the
 * Corefile asks for too much.
 */
export function planServer({ blocks }: Corefile, inputs: ConfigurationInputs): ServerPlan {
  const zones = blocks.flatMap(({ kubernetes }) => (kubernetes ? [zoneSettings(kubernetes, inputs.clusterDns)] : []))
  const withTable = blocks.filter(({ kubernetes }) => kubernetes !== undefined)
  const portBlocks = blocks.flatMap((block) => splitByPort(block, withTable.indexOf(block), inputs))
  refuseMany('server blocks, each for one port', portBlocks, limits.blocks)
  refuseMany(
    'blocks with kubernetes',
    withTable.map((block) => ({ block })),
    limits.tables,
  )
  return {
    threads: {
      serving: {
        blocks: portBlocks.map(({ served }) => served),
        addresses: planListenAddresses(portBlocks, inputs),
        clusterSources: inputs.clusterSources,
        maxConnections,
      },
      resolvers: portBlocks.filter(({ served }) => served.forwards).map((one) => planResolver(one, inputs)),
    },
    zones,
    http: planHttp(blocks, inputs),
    lameduckMs: Math.min(maxLameduckMs, Math.max(0, ...blocks.map(({ health }) => health?.lameduckMs ?? 0))),
  }
}

function refuseMany(what: string, items: readonly Pick<PortBlock, 'block'>[], limit: number): void {
  const one = items[limit]
  if (one !== undefined) throw new CorefileError('conflict', one.block.location, `more than ${limit} ${what}`)
}

function zoneSettings(settings: KubernetesSettings, nameServers: readonly Ip[]): ZoneSettings {
  const { zones, ttl, pods, endpointPodNames, ignoreEmptyServices, useEndpoints, namespaces, fallthrough } = settings
  const { labels, namespaceLabels } = settings
  const fallthroughZones = fallthrough === 'all' ? zones : (fallthrough ?? [])
  const only = namespaces.length > 0 ? { namespaces: new Set(namespaces) } : {}
  return {
    zones,
    ttl,
    pods,
    endpointPodNames,
    ignoreEmptyServices,
    useEndpoints,
    fallthroughZones,
    nameServers,
    ...only,
    ...(labels !== undefined && { labels }),
    ...(namespaceLabels !== undefined && { namespaceLabels }),
  }
}

/** Returns undefined where addresses are only rotated. */
function planOrder(balance: LoadbalanceSettings, inputs: ConfigurationInputs): OrderSettings | undefined {
  if (balance.policy === 'round_robin' && balance.prefer.length === 0) return undefined
  const weights = balance.file === undefined ? undefined : (inputs.hostsTexts.get(balance.file) ?? '')
  return { prefer: balance.prefer, weights }
}

/** Splits a block by the ports of its keys: a server block listens on one port. */
function splitByPort(block: ServerBlock, table: number, inputs: ConfigurationInputs): readonly PortBlock[] {
  const byPort = Map.groupBy(block.keys, ({ port }) => port)
  return Array.from(byPort, ([port, keys]) => {
    const zones = keys.map(({ zone }) => zone)
    const bound = block.bind.flatMap(({ addresses }) => addresses).join(',')
    const served: ServedBlock = {
      id: `${zones.map((zone) => nameText(zone)).join(',')}:${port} ${bound}`,
      zones,
      server: serverLabel(block, port),
      log: block.log,
      loadbalance: block.loadbalance && { order: planOrder(block.loadbalance, inputs) },
      rewrite: block.rewrite,
      template: block.template,
      hosts: block.hosts && { settings: block.hosts, text: inputs.hostsTexts.get(block.hosts.file) ?? '' },
      kubernetes: table === -1 ? undefined : { table },
      cache: planThreadCache(block),
      forwards: block.forward.length > 0,
    }
    return { block, port, served }
  })
}

/** Returns no settings for a cache that prefetches, because it has to count every question. */
function planThreadCache({ cache }: ServerBlock): ServedBlock['cache'] {
  if (cache === undefined || cache.settings.prefetch !== undefined) return undefined
  return { zones: cache.zones, keepTtl: cache.settings.keepTtl }
}

/** Returns the label of a server block in metrics: its port, with the address where it is bound to one. */
export function serverLabel({ bind }: ServerBlock, port: number): string {
  const [address, ...others] = bind.flatMap(({ addresses }) => addresses).map(parseIp)
  if (address === undefined || others.length > 0) return `dns://:${port}`
  return `dns://${ipFamily(address) === 'IPv6' ? `[${address}]` : address}:${port}`
}

function planListenAddresses(portBlocks: readonly PortBlock[], inputs: ConfigurationInputs): readonly ListenAddress[] {
  const found = new Map<string, ListenAddress>()
  for (const [index, { block, port }] of portBlocks.entries()) {
    for (const { address, access } of addressesOf(block, inputs)) {
      const key = `${address} ${port}`
      const blocks = [...(found.get(key)?.blocks ?? []), index]
      found.set(key, { address, port, access, blocks })
    }
    if (found.size > limits.addresses)
      throw new CorefileError(
        'conflict',
        block.location,
        `more than ${limits.addresses} addresses and ports to listen on`,
      )
  }
  return [...found.values()].map((address) => ({ ...address, memoryZones: memoryZonesOf(address, portBlocks) }))
}

function memoryZonesOf({ blocks }: ListenAddress, all: readonly PortBlock[]): ListenAddress['memoryZones'] {
  const own = blocks.flatMap((index) => all[index] ?? [])
  if (!own.some(({ served }) => served.forwards)) return undefined
  return own.flatMap(({ block, served }) => (served.forwards ? (block.kubernetes?.zones ?? []) : served.zones))
}

function addressesOf({ bind }: ServerBlock, inputs: ConfigurationInputs): Pick<ListenAddress, 'address' | 'access'>[] {
  const { clusterDns, nodeAddress, linkAddresses } = inputs
  if (bind.length === 0) {
    const own = clusterDns.map((address) => ({ address, access: 'all' as const }))
    return nodeAddress === undefined ? own : [...own, { address: nodeAddress, access: 'cluster' }]
  }
  const expand = (name: string) => linkAddresses.get(name)?.filter((ip) => !needsZone(ip)) ?? [name as Ip]
  const bound = bind.flatMap(({ addresses, except }) => {
    const left = new Set(except.flatMap(expand))
    return addresses.flatMap(expand).filter((address) => !left.has(address))
  })
  return [...new Set(bound)].map((address) => ({ address, access: 'all' }))
}

/** Returns the names in `bind` that are no addresses. */
export function boundLinks({ blocks }: Corefile): ReadonlySet<string> {
  const bound = blocks.flatMap(({ bind }) => bind.flatMap(({ addresses, except }) => [...addresses, ...except]))
  return new Set(bound.filter((name) => parseIp(name) === undefined))
}

/** Tells whether a socket has to name the link beside that address: every link with IPv6 has such a one. */
function needsZone(ip: Ip): boolean {
  return ipFamily(ip) === 'IPv6' && specialKindOf(ip) === 'link-local'
}

function planResolver({ block, served }: PortBlock, inputs: ConfigurationInputs): ResolvedBlock {
  return {
    id: served.id,
    server: served.server,
    cache: block.cache,
    errors: block.errors,
    forwards: block.forward.map((plugin) => planForward(plugin, inputs)),
    loopZone: block.loop ? served.zones[0] : undefined,
  }
}

function planForward(plugin: ForwardPlugin, inputs: ConfigurationInputs): ForwardRule {
  const { location: _, from, to, except, tls, next, nextOnNodata, ...settings } = plugin
  return {
    from,
    except,
    next,
    nextOnNodata,
    settings: { ...settings, targets: to.flatMap((target) => targetsOf(target, plugin, inputs)) },
  }
}

function targetsOf(
  target: ForwardPlugin['to'][number],
  { tls }: ForwardPlugin,
  { nameservers, pemTexts }: ConfigurationInputs,
): readonly UpstreamTarget[] {
  if (target.kind === 'file') return (nameservers.get(target.path) ?? []).map((address) => ({ address, port: dnsPort }))
  const { address, port, overTls } = target
  if (!overTls) return [{ address, port }]
  const serverName = target.serverName ?? tls?.serverName
  const pem = (path: string | undefined) => (path === undefined ? undefined : pemTexts.get(path))
  const [authority, certificate, key] = [pem(tls?.authority), pem(tls?.certificate), pem(tls?.key)]
  return [
    {
      address,
      port,
      tls: {
        ...(serverName !== undefined && { serverName }),
        ...(authority !== undefined && { authority }),
        ...(certificate !== undefined && { certificate }),
        ...(key !== undefined && { key }),
      },
    },
  ]
}

function planHttp(
  blocks: readonly ServerBlock[],
  { clusterDns, nodeAddress }: ConfigurationInputs,
): readonly HttpEndpoint[] {
  const endpoints = new Map<string, HttpEndpoint>()
  const add = (kind: HttpEndpoint['kind'], listen: EndpointAddress | undefined, addresses: readonly Ip[]) => {
    if (listen === undefined) return
    const own = listen.address === undefined ? addresses : [listen.address as Ip]
    for (const address of own) endpoints.set(`${kind} ${address}`, { kind, address, port: listen.port })
  }
  for (const { health, ready, prometheus } of blocks) {
    add('health', health?.listen, clusterDns)
    add('ready', ready?.listen, clusterDns)
    add('metrics', prometheus?.listen, nodeAddress === undefined ? clusterDns : [...clusterDns, nodeAddress])
  }
  return [...endpoints.values()]
}
