import { type Cidr, cidrContains, hostCidr, type Ip, type IpFamily, ipFamily, parseCidr, parseIp } from '../model/ip.ts'
import { parseRuleSpec } from './parse.ts'
import { matchRule, type PacketState } from './trace/match-rule.ts'
import type { TracedWorld } from './trace/types.ts'

/** A packet on its way, with the link by which it leaves where that is known. */
export interface ForeignPacket extends PacketState {
  readonly outInterface?: string
}

/** A rule of another program, as far as it decides about one packet. */
export interface ForeignRule {
  /** Undefined where it is not known. */
  readonly isTaken: boolean | undefined
  readonly verdict?: 'accept' | 'drop' | 'reject' | 'return'
  /** The chain that it leads to. */
  readonly chain?: string
  readonly isGoto: boolean
}

const verdictOf: Readonly<Record<string, ForeignRule['verdict']>> = {
  ACCEPT: 'accept',
  DROP: 'drop',
  REJECT: 'reject',
  RETURN: 'return',
}

/** Reads the rest of an `-A` line of iptables. */
export function readIptablesRule(text: string, packet: ForeignPacket, context: TracedWorld): ForeignRule {
  const [, kind, target = ''] = / -([jg]) (\S+)/.exec(` ${text}`) ?? []
  const verdict = verdictOf[target]
  const leads = verdict === undefined ? { chain: target } : { verdict }
  return { ...leads, isGoto: kind === 'g', isTaken: isIptablesTaken(text, packet, context) }
}

const kindOfAddress = /(?<!! )-m addrtype --dst-type (BROADCAST|MULTICAST|ANYCAST)/

/** One match that excludes the packet is enough, whatever the others say. The target does not matter. */
function isIptablesTaken(text: string, packet: ForeignPacket, context: TracedWorld): boolean | undefined {
  const matches = ` ${text}`.replace(/ -[jg] \S+.*$/, '').trim()
  const [, protocol] = /^(?:.* )?-p (\w+)/.exec(matches) ?? []
  if (protocol !== undefined && !/! -p /.test(matches) && protocol !== packet.protocol.toLowerCase()) return false
  if (kindOfAddress.test(matches) || isForOtherPort(matches, packet)) return false
  const [link, negated, name = ''] = /(! )?-o (\S+) ?/.exec(matches) ?? []
  const leaves = link === undefined ? true : leavesBy(name, negated !== undefined, packet)
  if (leaves === false) return false
  const rest = matches.replace(link ?? '', '').trim()
  const rule = rest === '' ? undefined : parseRuleSpec(`${rest} -j RETURN`)
  const isRestTaken = rest === '' ? true : rule && matchRule(rule, packet, context) > 0
  return isRestTaken === true ? leaves : isRestTaken
}

function isForOtherPort(matches: string, { port }: ForeignPacket): boolean {
  const [, first, last = first] = /(?<!! )--dport (\d+)(?::(\d+))?(?= |$)/.exec(matches) ?? []
  return first !== undefined && (port < Number(first) || port > Number(last))
}

function leavesBy(name: string, isNegated: boolean, { outInterface }: ForeignPacket): boolean | undefined {
  if (outInterface === undefined) return undefined
  return isNamed(name, outInterface) !== isNegated
}

function isNamed(pattern: string, name: string): boolean {
  return /[+*]$/.test(pattern) ? name.startsWith(pattern.slice(0, -1)) : name === pattern
}

/** Reads a line of `nft list table`. */
export function readNftRule(line: string, packet: ForeignPacket, context: TracedWorld): ForeignRule {
  const text = line
    .replace(/ ?counter packets \d+ bytes \d+/, '')
    .replace(/ comment ".*"$/, '')
    .trim()
  const [, word, chain] = /(?:^| )(accept|drop|reject|return|jump|goto)(?: (\S+))?(?: .*)?$/.exec(text) ?? []
  const isTaken = isNftTaken(text, packet, context)
  if (word === 'jump' || word === 'goto') return { chain: chain ?? '', isGoto: word === 'goto', isTaken }
  if (word !== undefined) return { verdict: word as 'accept', isGoto: false, isTaken }
  return /\b(queue|vmap)\b/.test(text)
    ? { verdict: 'drop', isGoto: false, isTaken: undefined }
    : { isGoto: false, isTaken }
}

type NftTest = (values: readonly string[], packet: ForeignPacket, context: TracedWorld) => boolean | undefined

const nftTests: readonly (readonly [string, NftTest])[] = [
  ['iifname', (names, { inInterface, origin }) => isOnLink(names, origin === 'this-node' ? 'lo' : inInterface)],
  ['oifname', (names, { outInterface }) => isOnLink(names, outInterface)],
  ['ip saddr', (values, { source }) => isInAny('IPv4', values, source)],
  ['ip daddr', (values, { destination }) => isInAny('IPv4', values, destination)],
  ['ip6 saddr', (values, { source }) => isInAny('IPv6', values, source)],
  ['ip6 daddr', (values, { destination }) => isInAny('IPv6', values, destination)],
  ['ct state', (states, { state }) => states.includes(state.toLowerCase())],
  ['ct status', (values, { isTranslated }) => (values.includes('dnat') ? isTranslated : undefined)],
  ['meta l4proto', (values, { protocol }) => values.includes(protocol.toLowerCase())],
  ['tcp dport', (ports, packet) => packet.protocol === 'TCP' && hasPort(ports, packet.port)],
  ['udp dport', (ports, packet) => packet.protocol === 'UDP' && hasPort(ports, packet.port)],
  [
    'fib daddr type',
    (types, { destination }, { isLocalAddress }) => types.includes('local') === isLocalAddress(destination),
  ],
]

function isNftTaken(text: string, packet: ForeignPacket, context: TracedWorld): boolean | undefined {
  let isKnown = true
  for (let rest = text; rest !== '' && !/^(accept|drop|reject|return|jump|goto|log)\b/.test(rest); ) {
    const found = nftTests.find(([words]) => rest.startsWith(`${words} `))
    const [whole, negated, set, one] =
      found === undefined ? [] : (/^(!= )?(?:\{ (.*?) \}|(\S+))(?: |$)/.exec(rest.slice(found[0].length + 1)) ?? [])
    if (found === undefined || whole === undefined) return undefined
    const values = (set ?? one ?? '').split(',').map((value) => value.trim().replaceAll('"', ''))
    const holds = found[1](values, packet, context)
    if (holds !== undefined && holds === (negated !== undefined)) return false
    isKnown &&= holds !== undefined
    rest = rest.slice(found[0].length + 1 + whole.length)
  }
  return isKnown || undefined
}

function isOnLink(patterns: readonly string[], name: string | undefined): boolean | undefined {
  return name === undefined ? undefined : patterns.some((pattern) => isNamed(pattern, name))
}

function isInAny(family: IpFamily, values: readonly string[], address: Ip): boolean | undefined {
  if (ipFamily(address) !== family) return false
  const networks = values.map(networkOf)
  if (networks.some((network) => network !== undefined && cidrContains(network, hostCidr(address)))) return true
  return networks.includes(undefined) ? undefined : false
}

function networkOf(text: string): Cidr | undefined {
  const ip = parseIp(text)
  return ip === undefined ? parseCidr(text) : hostCidr(ip)
}

function hasPort(ports: readonly string[], port: number): boolean {
  return ports.some((text) => {
    const [first = Number.NaN, last = first] = text.split('-').map(Number)
    return port >= first && port <= last
  })
}
