import { z } from 'zod'
import {
  declareOptions,
  durationOrNone,
  flagValue,
  ipAddress,
  linkName,
  nodePortAddressList,
  seconds,
} from '../../config/index.ts'

const commands = ['run', 'agent'] as const

const connectionCount = z.coerce.number('expected a number of connections, or 0').int().min(0).max(2_147_483_647)

const localModes = ['ClusterCIDR', 'NodeCIDR', 'BridgeInterface', 'InterfaceNamePrefix'] as const

/** Ways to detect traffic of pods. */
export type DetectLocalMode = (typeof localModes)[number]

const proxyModes = ['iptables', 'nftables', 'auto'] as const

export const proxyOptions = declareOptions({
  proxyMode: {
    schema: z.enum(proxyModes, { error: `expected one of: ${proxyModes.join(', ')}` }),
    flag: '--proxy-mode <mode>',
    default: 'iptables',
    reload: 'restart',
    commands,
    description:
      'The form of the rules of Services: iptables, or nftables, where a change costs the same at any size; auto takes nftables where the kernel and libnftables can, else iptables',
  },
  detectLocalMode: {
    schema: z.enum(localModes, { error: `expected one of: ${localModes.join(', ')}` }),
    flag: '--detect-local-mode <mode>',
    default: 'ClusterCIDR',
    reload: 'restart',
    commands,
    description:
      "How traffic of pods is detected: by --cluster-cidr, by this node's part of it, or by the ingress interface",
  },
  podBridgeInterface: {
    schema: linkName.optional(),
    flag: '--pod-bridge-interface <name>',
    reload: 'restart',
    commands,
    description: 'The bridge that pods are attached to, for --detect-local-mode BridgeInterface',
    example: 'cni0',
  },
  podInterfaceNamePrefix: {
    schema: linkName.optional(),
    flag: '--pod-interface-name-prefix <prefix>',
    reload: 'restart',
    commands,
    description: "The prefix of the names of pods' interfaces, for --detect-local-mode InterfaceNamePrefix",
    example: 'veth',
  },
  masqueradeAll: {
    schema: flagValue,
    flag: '--masquerade-all [boolean]',
    default: false,
    reload: 'restart',
    commands,
    description: 'Masquerade all connections to addresses of Services',
  },
  masqueradeBit: {
    schema: z.coerce.number('expected a bit from 0 to 31').int().min(0).max(31),
    flag: '--masquerade-bit <bit>',
    default: 14,
    reload: 'restart',
    commands,
    description: 'The bit of the packet mark that requests masquerading, 0 to 31',
  },
  masqueradeRandomFully: {
    schema: flagValue,
    flag: '--masquerade-random-fully [boolean]',
    default: true,
    reload: 'restart',
    commands,
    description: 'Pick source ports of masqueraded connections at random, which keeps two from colliding',
  },
  nodePortAddresses: {
    schema: nodePortAddressList.optional(),
    flag: '--node-port-addresses <list>',
    reload: 'restart',
    commands,
    description:
      "The networks of this node's addresses on which node ports are open, or primary for the first of each family in the Node object; all but loopback when not set",
    example: '192.0.2.0/24',
  },
  acceptPodTraffic: {
    schema: z.enum(['auto', 'always', 'never'], { error: 'expected auto, always or never' }),
    flag: '--accept-pod-traffic <when>',
    default: 'auto',
    reload: 'restart',
    commands,
    description:
      "Whether new connections from and to pods (--cluster-cidr and this node's pod networks) are forwarded whatever the policy of FORWARD is: auto does so where pods get the network that comes with this program",
  },
  noLocalEndpoints: {
    schema: z.enum(['drop', 'reject'], { error: 'expected drop or reject' }),
    flag: '--no-local-endpoints <verdict>',
    default: 'drop',
    reload: 'restart',
    commands,
    description:
      'The verdict on connections to a Service of traffic policy Local without an endpoint on this node: drop or reject',
  },
  maxServiceRules: {
    schema: z.coerce.number('expected a number of rules, or 0 for no limit').int().min(0).max(10_000_000),
    flag: '--max-service-rules <count>',
    default: 100_000,
    reload: 'restart',
    commands,
    description:
      'A Service that would have more rules in the kernel is set aside: an endpoint of a port has 3, with session affinity 14. With --proxy-mode nftables elements are counted, for an endpoint one for each address of the port, with session affinity two. 0 for no limit',
  },
  affinityForm: {
    schema: z.enum(['recent', 'ipset'], { error: 'expected recent or ipset' }),
    flag: '--affinity-form <form>',
    default: 'recent',
    reload: 'restart',
    commands,
    description:
      'Which list of the kernel holds the clients of Services with session affinity: recent (100 per endpoint) or ipset (65,536)',
  },
  affinityHardTimeout: {
    schema: flagValue,
    flag: '--affinity-hard-timeout [boolean]',
    default: false,
    reload: 'restart',
    commands,
    description: "Count the timeout of session affinity from a client's first connection instead of its newest",
  },
  conntrackTcpGrace: {
    schema: seconds.optional(),
    flag: '--conntrack-tcp-grace <seconds>',
    reload: 'restart',
    commands,
    description:
      'How long after the removal of their endpoint TCP connections are deleted from conntrack, in seconds; never when not set',
    example: '60',
  },
  conntrackMaxPerCore: {
    schema: connectionCount,
    flag: '--conntrack-max-per-core <count>',
    default: 32_768,
    reload: 'live',
    commands,
    description: 'How many connections conntrack holds for each core; a larger table stays; 0 leaves it unchanged',
  },
  conntrackMin: {
    schema: connectionCount,
    flag: '--conntrack-min <count>',
    default: 131_072,
    reload: 'live',
    commands,
    description: 'How many connections conntrack holds at least, whatever the number of cores',
  },
  conntrackTcpTimeoutEstablished: {
    schema: durationOrNone,
    flag: '--conntrack-tcp-timeout-established <duration>',
    default: '24h',
    reload: 'live',
    commands,
    description: 'How long conntrack keeps an idle TCP connection; 0 leaves the setting unchanged',
  },
  conntrackTcpTimeoutCloseWait: {
    schema: durationOrNone,
    flag: '--conntrack-tcp-timeout-close-wait <duration>',
    default: '1h',
    reload: 'live',
    commands,
    description: 'How long conntrack keeps a TCP connection that one side has closed; 0 leaves the setting unchanged',
  },
  conntrackTcpBeLiberal: {
    schema: flagValue,
    flag: '--conntrack-tcp-be-liberal [boolean]',
    default: false,
    reload: 'live',
    commands,
    description: 'Let conntrack accept TCP packets outside the window instead of marking them INVALID',
  },
  conntrackUdpTimeout: {
    schema: durationOrNone,
    flag: '--conntrack-udp-timeout <duration>',
    default: '0',
    reload: 'live',
    commands,
    description: 'How long conntrack keeps a UDP flow without an answer; 0 leaves the setting unchanged',
  },
  conntrackUdpTimeoutStream: {
    schema: durationOrNone,
    flag: '--conntrack-udp-timeout-stream <duration>',
    default: '0',
    reload: 'live',
    commands,
    description: 'How long conntrack keeps a UDP flow with an answer; 0 leaves the setting unchanged',
  },
  proxyHealthzAddress: {
    schema: ipAddress,
    flag: '--proxy-healthz-address <ip>',
    default: '0.0.0.0',
    reload: 'restart',
    commands,
    description: 'The addresses on which load balancers query the health of the proxy',
  },
  proxyHealthzPort: {
    schema: z.coerce.number('expected a port, or 0 for none').int().min(0).max(65_535),
    flag: '--proxy-healthz-port <port>',
    default: 10256,
    reload: 'restart',
    commands,
    description: 'The port of /healthz and /livez of the proxy; 0 for none',
  },
  proxyMetricsAddress: {
    schema: ipAddress,
    flag: '--proxy-metrics-address <ip>',
    default: '127.0.0.1',
    reload: 'restart',
    commands,
    description: 'The address of /metrics and /proxyMode of the proxy, which are open to those who reach it',
  },
  proxyMetricsPort: {
    schema: z.coerce.number('expected a port, or 0 for none').int().min(0).max(65_535),
    flag: '--proxy-metrics-port <port>',
    default: 10249,
    reload: 'restart',
    commands,
    description: 'The port of /metrics and /proxyMode of the proxy; 0 for none',
  },
})

/** Returns the missing option without which no pod traffic is detected: pods would be masqueraded and lose local short-circuits. Undefined if none is missing. */
export function missingOption(options: {
  readonly detectLocalMode: DetectLocalMode
  readonly podBridgeInterface?: string | undefined
  readonly podInterfaceNamePrefix?: string | undefined
}): string | undefined {
  const { detectLocalMode: mode, podBridgeInterface, podInterfaceNamePrefix } = options
  if (mode === 'BridgeInterface' && podBridgeInterface === undefined) return '--pod-bridge-interface'
  return mode === 'InterfaceNamePrefix' && podInterfaceNamePrefix === undefined
    ? '--pod-interface-name-prefix'
    : undefined
}
