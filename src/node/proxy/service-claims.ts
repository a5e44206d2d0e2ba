import type { ObjectKey } from '../../model/api-object.ts'
import { type Cidr, cidrContains, hostCidr, type Ip } from '../../model/ip.ts'
import type { Protocol, Service } from '../../model/service.ts'

/**
 * The reasons why this node does not serve a Service at an address that it claims; a closed set, also the label of the
 * metric.
 */
export const claimRefusals = ['cluster-ip', 'node-address', 'service-range', 'api-server', 'older-service'] as const

export type ClaimRefusal = (typeof claimRefusals)[number]

/** An address and port, or a node port, that a Service claims and does not get. */
export interface RefusedClaim {
  /** Absent for a node port. */
  readonly address?: Ip
  readonly protocol: Protocol
  readonly port: number
  readonly reason: ClaimRefusal
  /** Whose it is: `Service default/web`, `node n1`, `10.96.0.0/12`. */
  readonly holder: string
}

/** Addresses that no external address of a Service may be. */
export interface ReservedAddresses {
  /** The addresses of all Node objects, with the name of the node. */
  readonly nodes: ReadonlyMap<Ip, string>
  readonly serviceCidrs: readonly Cidr[]
  /** Where this node and the cluster reach the API server: `192.0.2.1 TCP 6443`. */
  readonly apiServers: ReadonlySet<string>
}

/** The key of a claim: an address with protocol and port, or a node port. */
type ClaimKey = string

interface Claimed {
  readonly service: Service | undefined
  readonly clusterIps: readonly Ip[]
  /** External addresses and those of load balancers. */
  readonly external: ReadonlySet<Ip>
  /** From `spec.externalIPs`. */
  readonly externalIps: ReadonlySet<Ip>
  readonly claims: ReadonlySet<ClaimKey>
}

const noClaims: Claimed = {
  service: undefined,
  clusterIps: [],
  external: new Set(),
  externalIps: new Set(),
  claims: new Set(),
}

const nothing: ReservedAddresses = { nodes: new Map(), serviceCidrs: [], apiServers: new Set() }

/**
 * Decides which Service gets an address that several claim. A ClusterIP comes before any external address; external
 * addresses never are those of nodes, Services or the API server; of two Services with the same claim the older one
 * gets it (creationTimestamp, uid, name). The work is in proportion to the claims of the Service that changes and to
 * the Services whose claims it decides.
 */
export class ServiceClaims {
  readonly #claimed = new Map<ObjectKey, Claimed>()
  readonly #clusterIps = new Map<Ip, readonly Service[]>()
  /** Services that claim the address as an external one or as that of a load balancer. */
  readonly #external = new Map<Ip, Set<ObjectKey>>()
  readonly #claimants = new Map<ClaimKey, readonly Service[]>()
  #reserved: ReservedAddresses = nothing
  #withExternalIps = 0

  /** Whether any Service has addresses of `spec.externalIPs`: only then the addresses of nodes matter. */
  get hasExternalIps(): boolean {
    return this.#withExternalIps > 0
  }

  /** Takes a Service as it is now, or that it is gone. Returns the other Services whose refusals may differ for it. */
  update(key: ObjectKey, service: Service | undefined): ReadonlySet<ObjectKey> {
    const before = this.#claimed.get(key) ?? noClaims
    const next = service === undefined || !isServed(service) ? noClaims : claimsOf(service)
    if (before.service === next.service) return new Set()
    const affected = new Set<ObjectKey>()
    for (const ip of unionOf(before.clusterIps, next.clusterIps)) this.#replaceClusterIp(ip, key, next, affected)
    for (const claim of before.claims.size === 0 ? next.claims : before.claims.union(next.claims))
      this.#replaceClaim(claim, key, next, affected)
    for (const ip of before.external) this.#forgetExternal(ip, key)
    for (const ip of next.external) this.#addExternal(ip, key)
    this.#withExternalIps += Math.sign(next.externalIps.size) - Math.sign(before.externalIps.size)
    if (next === noClaims) this.#claimed.delete(key)
    else this.#claimed.set(key, next)
    affected.delete(key)
    return affected
  }

  /** Returns the Services whose refusals may differ. */
  reserve(reserved: ReservedAddresses): ReadonlySet<ObjectKey> {
    this.#reserved = reserved
    return new Set([...this.#external.values()].flatMap((keys) => [...keys]))
  }

  /** The addresses that this Service claims and does not have. */
  refusalsOf(key: ObjectKey): readonly RefusedClaim[] {
    const { service, external, externalIps, clusterIps } = this.#claimed.get(key) ?? noClaims
    if (service === undefined) return []
    const refused = clusterIps.flatMap((ip) => this.#judgeClusterIp(ip, service))
    for (const { protocol, port, nodePort } of service.ports) {
      for (const address of external) {
        const verdict = this.#judgeExternal({ address, protocol, port }, service, externalIps.has(address))
        if (verdict !== undefined) refused.push({ address, protocol, port, ...verdict })
      }
      const older = nodePort === undefined ? undefined : this.#olderAt(claimKey(undefined, protocol, nodePort), service)
      if (nodePort !== undefined && older !== undefined) refused.push({ protocol, port: nodePort, ...older })
    }
    return refused
  }

  #judgeClusterIp(ip: Ip, service: Service): RefusedClaim[] {
    const [holder] = this.#clusterIps.get(ip) ?? []
    if (holder === undefined || holder.key === service.key) return []
    const verdict = { reason: 'older-service', holder: `Service ${holder.key}` } as const
    return service.ports.map(({ protocol, port }) => ({ address: ip, protocol, port, ...verdict }))
  }

  #judgeExternal(
    claim: { readonly address: Ip; readonly protocol: Protocol; readonly port: number },
    service: Service,
    isExternalIp: boolean,
  ): Pick<RefusedClaim, 'reason' | 'holder'> | undefined {
    const { address } = claim
    const [owner] = this.#clusterIps.get(address) ?? []
    if (owner !== undefined) return { reason: 'cluster-ip', holder: `Service ${owner.key}` }
    const range = this.#reserved.serviceCidrs.find((cidr) => cidrContains(cidr, hostCidr(address)))
    if (range !== undefined) return { reason: 'service-range', holder: range }
    const name = claimKey(address, claim.protocol, claim.port)
    if (this.#reserved.apiServers.has(name)) return { reason: 'api-server', holder: 'the API server' }
    const node = isExternalIp ? this.#reserved.nodes.get(address) : undefined
    if (node !== undefined) return { reason: 'node-address', holder: `node ${node}` }
    return this.#olderAt(name, service)
  }

  #olderAt(claim: ClaimKey, service: Service): Pick<RefusedClaim, 'reason' | 'holder'> | undefined {
    const [holder] = this.#claimants.get(claim) ?? []
    if (holder === undefined || holder.key === service.key) return undefined
    return { reason: 'older-service', holder: `Service ${holder.key}` }
  }

  #replaceClusterIp(ip: Ip, key: ObjectKey, next: Claimed, affected: Set<ObjectKey>): void {
    const before = this.#clusterIps.get(ip) ?? []
    const after = replaceIn(before, key, next.clusterIps.includes(ip) ? next.service : undefined)
    if (after.length === 0) this.#clusterIps.delete(ip)
    else this.#clusterIps.set(ip, after)
    if (before[0]?.key === after[0]?.key) return
    for (const each of [before[0], after[0]]) if (each !== undefined) affected.add(each.key)
    for (const other of this.#external.get(ip) ?? []) affected.add(other)
  }

  #replaceClaim(claim: ClaimKey, key: ObjectKey, next: Claimed, affected: Set<ObjectKey>): void {
    const before = this.#claimants.get(claim) ?? []
    const after = replaceIn(before, key, next.claims.has(claim) ? next.service : undefined)
    if (after.length === 0) this.#claimants.delete(claim)
    else this.#claimants.set(claim, after)
    if (before[0]?.key === after[0]?.key) return
    for (const each of [before[0], after[0]]) if (each !== undefined) affected.add(each.key)
  }

  #addExternal(ip: Ip, key: ObjectKey): void {
    const keys = this.#external.get(ip) ?? new Set()
    this.#external.set(ip, keys.add(key))
  }

  #forgetExternal(ip: Ip, key: ObjectKey): void {
    const keys = this.#external.get(ip)
    keys?.delete(key)
    if (keys?.size === 0) this.#external.delete(ip)
  }
}

/** `192.0.2.1 TCP 443`, or `node port TCP 30080`. */
export function claimKey(address: Ip | undefined, protocol: Protocol, port: number): ClaimKey {
  return `${address ?? 'node port'} ${protocol} ${port}`
}

/** For people: `192.0.2.1 TCP 443 is Service default/web's (older-service)`. */
export function describeRefusedClaim({ address, protocol, port, reason, holder }: RefusedClaim): string {
  return `${claimKey(address, protocol, port)} (${reason}: ${holder})`
}

function isServed({ headless, type, foreignProxy }: Service): boolean {
  return !headless && type !== 'ExternalName' && foreignProxy !== true
}

function claimsOf(service: Service): Claimed {
  const { clusterIps, externalIps, loadBalancerVips, ports } = service
  const hasExternal = externalIps.length + loadBalancerVips.length > 0
  const external = hasExternal ? new Set([...externalIps, ...loadBalancerVips]) : noClaims.external
  const claims = ports.flatMap(({ protocol, port, nodePort }) => [
    ...Array.from(external, (address) => claimKey(address, protocol, port)),
    ...(nodePort === undefined ? [] : [claimKey(undefined, protocol, nodePort)]),
  ])
  return {
    service,
    clusterIps,
    external,
    externalIps: externalIps.length === 0 ? noClaims.externalIps : new Set(externalIps),
    claims: claims.length === 0 ? noClaims.claims : new Set(claims),
  }
}

function unionOf(before: readonly Ip[], next: readonly Ip[]): Iterable<Ip> {
  return before.length === 0 ? next : new Set([...before, ...next])
}

function replaceIn(held: readonly Service[], key: ObjectKey, next: Service | undefined): readonly Service[] {
  if (held.length === 0) return next === undefined ? held : [next]
  const others = held.filter((each) => each.key !== key)
  if (next === undefined) return others
  const at = others.findIndex((each) => isOlder(next, each))
  return at === -1 ? [...others, next] : others.toSpliced(at, 0, next)
}

/** A Service that does not say when it was made is the youngest. */
function isOlder(one: Service, other: Service): boolean {
  const [a, b] = [one.createdAtMs ?? Number.POSITIVE_INFINITY, other.createdAtMs ?? Number.POSITIVE_INFINITY]
  if (a !== b) return a < b
  const [uid, otherUid] = [one.uid ?? '', other.uid ?? '']
  return uid === otherUid ? one.key < other.key : uid < otherUid
}
