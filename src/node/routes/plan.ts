import { type Cidr, type Ip, ipFamily } from '../../model/ip.ts'

/** host-gw: the other nodes are on this node's network and are the gateways of their pods; vxlan: pod packets travel inside UDP packets. */
export type RouteMode = 'host-gw' | 'vxlan'

/** The fields of a Node that routes to its pods depend on. */
export interface NetworkNode {
  readonly name: string
  readonly uid: string
  /** Milliseconds since 1970; Infinity if the object has no creationTimestamp. */
  readonly createdAtMs: number
  /** The node's first address of each family. */
  readonly ips: readonly Ip[]
  readonly podCidrs: readonly Cidr[]
}

export interface RouteSettings {
  readonly mode: RouteMode
  readonly nodeName: string
}

export interface PodRoute {
  readonly destination: Cidr
  readonly via: Ip
  /** For vxlan: the device, with `onlink`, because no address of this node covers the gateway. */
  readonly device?: string
}

/** A peer of the VXLAN device; entries are static, nothing is learned. */
interface VxlanPeer {
  readonly mac: string
  /** The peer's end of the device: the network address of its pod network, which no pod has. */
  readonly inner: Ip
  /** The node's own address. */
  readonly outer: Ip
}

export interface VxlanDevice {
  readonly name: string
  readonly id: number
  readonly port: number
  readonly local: Ip
  readonly mac: string
  readonly addresses: readonly Ip[]
  readonly peers: readonly VxlanPeer[]
}

export interface RoutePlan {
  readonly routes: readonly PodRoute[]
  readonly vxlan: VxlanDevice | undefined
}

export const vxlanName = 'plt-vxlan'
const vxlanId = 4097
/** The IANA port of VXLAN (RFC 7348). */
const vxlanPort = 4789

/** Plans the routes to the pods of every other node from accepted claims. The order of the nodes makes no difference. Pure. */
export function planRoutes(nodes: Iterable<NetworkNode>, { mode, nodeName }: RouteSettings): RoutePlan {
  const all = [...nodes].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const self = all.find(({ name }) => name === nodeName)
  const peers = all.filter(({ name }) => name !== nodeName)
  const local = self && addressOf(self, 'IPv4')
  if (mode === 'host-gw') return { routes: peers.flatMap(hostGatewayRoutes), vxlan: undefined }
  if (self === undefined || local === undefined) return { routes: [], vxlan: undefined }
  const known = peers.filter((peer) => addressOf(peer, 'IPv4') !== undefined)
  return {
    routes: known.flatMap(({ podCidrs }) =>
      podCidrs.map((destination) => ({ destination, via: networkAddress(destination), device: vxlanName })),
    ),
    vxlan: {
      name: vxlanName,
      id: vxlanId,
      port: vxlanPort,
      local,
      mac: macOf(local),
      addresses: self.podCidrs.map(networkAddress),
      peers: known.flatMap(vxlanPeers),
    },
  }
}

function hostGatewayRoutes(peer: NetworkNode): PodRoute[] {
  return peer.podCidrs.flatMap((destination) => {
    const via = addressOf(peer, ipFamily(destination))
    return via === undefined ? [] : [{ destination, via }]
  })
}

function vxlanPeers(peer: NetworkNode): VxlanPeer[] {
  const outer = addressOf(peer, 'IPv4')
  if (outer === undefined) return []
  return peer.podCidrs.map((cidr) => ({ mac: macOf(outer), inner: networkAddress(cidr), outer }))
}

function addressOf({ ips }: NetworkNode, family: 'IPv4' | 'IPv6'): Ip | undefined {
  return ips.find((ip) => ipFamily(ip) === family)
}

function networkAddress(cidr: Cidr): Ip {
  return cidr.slice(0, cidr.indexOf('/')) as Ip
}

/** Derives the MAC address that every node computes alike: locally administered (bit 1 of the first byte), then the node's IPv4 address. */
export function macOf(ip: Ip): string {
  const bytes = ip.split('.').map((part) => Number(part).toString(16).padStart(2, '0'))
  return ['0a', '58', ...bytes].join(':')
}

/** Renders the table for `nft -f` that masquerades pod traffic to destinations outside the cluster; always the whole table. */
export function masqueradeTable(podCidrs: readonly Cidr[], clusterCidrs: readonly Cidr[]): string {
  const rules = podCidrs.flatMap((podCidr) => {
    const family = ipFamily(podCidr)
    const inside = clusterCidrs.filter((cidr) => ipFamily(cidr) === family)
    const word = family === 'IPv4' ? 'ip' : 'ip6'
    const outside = inside.map((cidr) => `${word} daddr != ${cidr}`)
    const multicast = `${word} daddr != ${family === 'IPv4' ? '224.0.0.0/4' : 'ff00::/8'}`
    return [`    ${word} saddr ${podCidr} ${[...outside, multicast].join(' ')} masquerade`]
  })
  return [
    `table inet ${masqueradeTableName} {}`,
    `delete table inet ${masqueradeTableName}`,
    `table inet ${masqueradeTableName} {`,
    '  chain postrouting {',
    // Priority after iptables' own nat (100): packets that a Service masquerades are already translated.
    '    type nat hook postrouting priority 110; policy accept;',
    ...rules,
    '  }',
    '}',
    '',
  ].join('\n')
}

export const masqueradeTableName = 'platnet-pods'
