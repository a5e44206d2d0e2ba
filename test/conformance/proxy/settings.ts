export type ProxyMode = 'iptables' | 'nftables'

export interface Run {
  /** One of `settingsOf`. */
  readonly settings: string
  /** The mode of kube-proxy. Beside its mode iptables both of our modes run, beside nftables that one. */
  readonly mode: ProxyMode
  /** Without it the cluster has a Service for each case. */
  readonly random?: RandomCluster
}

export interface RandomCluster {
  readonly seed: number
  readonly services: number
}

/** The same wish in the words of kube-proxy's configuration and of our flags. */
export interface Settings {
  readonly config: object
  readonly flags: readonly string[]
  /** Commands of other programs on the node before the proxy starts. kube-proxy, which answers them otherwise, is left out then. */
  readonly ofOthers?: readonly (readonly [file: string, ...args: string[]])[]
}

const each = (...args: readonly string[]) =>
  (['iptables', 'ip6tables'] as const).map((program) => [program, ...args] as const)

/** As firewalld leaves its zone for what is forwarded. */
const firewalld = `table inet firewalld {
  chain filter_FORWARD {
    type filter hook forward priority 10; policy accept;
    ct state { established, related } accept
    ct status dnat accept
    iifname "lo" accept
    reject with icmpx admin-prohibited
  }
}`

const known: Readonly<Record<string, Settings>> = {
  defaults: { config: {}, flags: [] },
  interfaces: {
    config: {
      detectLocalMode: 'InterfaceNamePrefix',
      detectLocal: { interfaceNamePrefix: 'cni' },
      nodePortAddresses: ['192.0.2.0/24', '2001:db8:2::/64'],
    },
    flags: [
      '--detect-local-mode=InterfaceNamePrefix',
      '--pod-interface-name-prefix=cni',
      '--node-port-addresses=192.0.2.0/24,2001:db8:2::/64',
    ],
  },
  'beside Docker': {
    config: {},
    flags: [],
    ofOthers: [
      ...each('-N', 'DOCKER-USER'),
      ...each('-A', 'DOCKER-USER', '-j', 'RETURN'),
      ...each('-A', 'FORWARD', '-j', 'DOCKER-USER'),
      ...each('-P', 'FORWARD', 'DROP'),
    ],
  },
  'beside firewalld': { config: {}, flags: [], ofOthers: [['nft', firewalld]] },
  'masquerade-all': {
    config: {
      iptables: { localhostNodePorts: false, masqueradeAll: true, masqueradeBit: 3 },
      nftables: { masqueradeAll: true, masqueradeBit: 3 },
      nodePortAddresses: ['primary'],
    },
    flags: ['--masquerade-all', '--masquerade-bit=3', '--node-port-addresses=primary'],
  },
}

export function settingsOf(name: string): Settings {
  const settings = known[name]
  if (settings === undefined) throw new Error(`no settings ${name}: expected one of ${Object.keys(known).join(', ')}`)
  return settings
}
