import type { Ip, IpFamily } from '../../model/ip.ts'
import type { Frontend, FrontendEndpoint } from '../frontend.ts'
import { admittedSources, hasFirewall } from '../lower-external.ts'
import { blockNetworks } from '../policy/ranges.ts'
import { isExternalServed, isInternalServed, notLetIn, refusal } from '../refusal.ts'
import type { ProxyRuleSettings } from '../settings.ts'
import { addressFlags, maxEndpoints, renderAddressData, renderClassid } from './address-data.ts'
import { addressKey, portKey } from './destination-key.ts'
import { ElementPacker } from './packed-elements.ts'
import { inPlaces, rememberedNumbers } from './places.ts'
import { admittedSet, type BalanceSets, balanceSets, healthSet, refusalSets, stickySet } from './set-specs.ts'
import type { ServiceElements } from './types.ts'

/** All elements of one Service in one family. The frontends of one Service have no destination in common with those of another. */
export function lowerToElements(frontends: readonly Frontend[], settings: ProxyRuleSettings): ServiceElements {
  const packer = new ElementPacker()
  for (const frontend of frontends) {
    for (const destination of destinationsOf(frontend, settings)) addDestination(packer, frontend, destination)
    addAdmitted(packer, frontend, settings)
    addRefusals(packer, frontend, settings)
  }
  const healthPort = frontends[0]?.healthCheckNodePort
  if (healthPort !== undefined) packer.add(healthSet, `${healthPort}`, '')
  return packer.finish()
}

/** A way to a frontend: an address with its port, or a node port. */
interface Destination {
  readonly kind: 'address' | 'port'
  readonly key: string
  readonly flags: number
  readonly endpoints: readonly FrontendEndpoint[]
}

function destinationsOf(frontend: Frontend, settings: ProxyRuleSettings): readonly Destination[] {
  const { hasEndpoints, externalIps, loadBalancerVips, nodePort, sourceRanges } = frontend
  const flags = externalFlags(frontend)
  const to = (address: Ip, more = 0) => ({ ...toAddress(frontend, address), flags: flags | more })
  const guard = sourceRanges === undefined ? 0 : addressFlags.guarded
  const endpoints = frontend.clusterEndpoints
  const external = [
    ...externalIps.map((ip) => to(ip)),
    ...(sourceRanges?.length === 0 ? [] : loadBalancerVips.map((ip) => to(ip, guard))),
    ...(nodePort === undefined ? [] : [{ kind: 'port' as const, key: portKey(frontend, nodePort), flags }]),
  ]
  return [
    ...clusterDestination(frontend, settings),
    ...(hasEndpoints ? external.map((destination) => ({ ...destination, endpoints })) : []),
  ]
}

function clusterDestination(frontend: Frontend, settings: ProxyRuleSettings): readonly Destination[] {
  const { internalPolicy, clusterEndpoints, localEndpoints, clusterIp } = frontend
  const endpoints = internalPolicy === 'Local' ? localEndpoints : clusterEndpoints
  if (endpoints.length === 0) return []
  return [{ ...toAddress(frontend, clusterIp), flags: clusterFlags(settings) | stickyFlag(frontend), endpoints }]
}

/** The endpoint may be on another node, which could not send its answer to where the packet came from, except to pods. */
function clusterFlags({ masqueradeAll, localTraffic }: ProxyRuleSettings): number {
  if (masqueradeAll === true) return addressFlags.masquerade
  return localTraffic === undefined ? 0 : addressFlags.masqueradeOthers
}

function externalFlags(frontend: Frontend): number {
  const policy = frontend.externalPolicy === 'Local' ? addressFlags.local : addressFlags.masquerade
  return policy | stickyFlag(frontend)
}

function stickyFlag({ affinity }: Frontend): number {
  return affinity === undefined ? 0 : addressFlags.sticky
}

function toAddress(frontend: Frontend, address: Ip): { readonly kind: 'address'; readonly key: string } {
  return { kind: 'address', key: addressKey(frontend, address) }
}

function addDestination(packer: ElementPacker, frontend: Frontend, destination: Destination): void {
  const { kind, key, flags } = destination
  if (!addBalance(packer, balanceSets[kind], destination)) return
  if (frontend.affinity !== undefined) packer.add(stickySet(kind, frontend.affinity.timeoutSeconds), key, '')
  if ((flags & addressFlags.local) === 0 || frontend.localEndpoints.length === 0) return
  const sets = kind === 'address' ? balanceSets['local-address'] : balanceSets['local-port']
  const local = { kind, key, flags: flags & addressFlags.sticky, endpoints: frontend.localEndpoints }
  addBalance(packer, sets, local)
}

/** Returns whether the destination is new; another frontend of the Service may have it already. */
function addBalance(packer: ElementPacker, sets: BalanceSets, destination: Destination): boolean {
  const { key, flags } = destination
  const endpoints = inPlaces(destination.endpoints.slice(0, maxEndpoints))
  if (!packer.add(sets.counts, key, renderAddressData(flags, endpoints.length))) return false
  // Places and numbers of one destination differ, and the destination is new.
  const numbers = (flags & addressFlags.sticky) === 0 ? undefined : rememberedNumbers(endpoints)
  for (const [index, endpoint] of endpoints.entries()) {
    const place = `${key} . ${renderClassid(index + 1)}`
    const number = numbers?.[index]
    if (number !== undefined) packer.addNew(sets.slots, place, renderClassid(number))
    const found = number === undefined ? place : `${key} . ${renderClassid(number)}`
    packer.addNew(sets.endpoints, found, `${endpoint.address} . ${endpoint.port}`)
    packer.addEndpointAddress(endpoint.address)
  }
  return true
}

/** Ranges that overlap or touch become one: the kernel refuses networks of one destination that meet. */
function addAdmitted(packer: ElementPacker, frontend: Frontend, settings: ProxyRuleSettings): void {
  if (!frontend.hasEndpoints || !hasFirewall(frontend)) return
  const sources = admittedSources(frontend, settings).map((cidr) => ({ cidr, except: [] }))
  const networks = blockNetworks(sources, settings.family).map((network) => withoutHostLength(network, settings.family))
  for (const vip of frontend.loadBalancerVips)
    for (const network of networks) packer.add(admittedSet, `${addressKey(frontend, vip)} . ${network}`, '')
}

/** A single address stands without its prefix length, as nft prints it. */
function withoutHostLength(network: string, family: IpFamily): string {
  return network.replace(family === 'IPv4' ? /\/32$/ : /\/128$/, '')
}

/** Packets that nat does not translate meet these in filter. */
function addRefusals(packer: ElementPacker, frontend: Frontend, settings: ProxyRuleSettings): void {
  const { clusterIp, externalIps, loadBalancerVips, nodePort } = frontend
  const internal = refusal(frontend, isInternalServed(frontend), settings)
  const external = refusal(frontend, isExternalServed(frontend), settings)
  const onBalancer = external ?? notLetIn(frontend)
  const refuse = (where: keyof typeof refusalSets, found: typeof internal, key: string) => {
    if (found !== undefined) packer.add(refusalSets[where][found.verdict], key, '')
  }
  refuse('cluster', internal, addressKey(frontend, clusterIp))
  for (const ip of externalIps) refuse('external', external, addressKey(frontend, ip))
  for (const ip of loadBalancerVips) refuse('external', onBalancer, addressKey(frontend, ip))
  if (nodePort !== undefined) refuse('port', external, portKey(frontend, nodePort))
}
