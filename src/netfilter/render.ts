import { addressBits, bigIntToIp, type Ip, type IpFamily, renderAddressPort } from '../model/ip.ts'
import { NetfilterError } from './errors.ts'
import type { ConnectionState, Match, PortRange, Rule, Side, TableChange, Target } from './ruleset.ts'
import { checkSetName } from './set-name.ts'

type Protocol = 'tcp' | 'udp' | 'sctp'
type Prelude = Extract<Match, { kind: 'source' | 'destination' }>
type AddressBit = Extract<Match, { kind: 'address-bit' }>

/**
 * Renders the input of one `iptables-restore --noflush`, chain by chain, so that the caller can pause in between: every changed
 * chain is emptied and written whole, removed ones are emptied and deleted. A table may stand more than once; each entry is a
 * commit of its own, in the order given.
 */
export function* renderRestoreInParts(changes: readonly TableChange[], family: IpFamily): Generator<string, void> {
  for (const change of changes) yield* renderTableChange(change, family)
}

/** `-A CHAIN …`, letter for letter as `iptables-save` 1.8.9 prints it (statistic's probability apart). */
export function renderRule(chain: string, rule: Rule, family: IpFamily = 'IPv4'): string {
  const spec = renderRuleSpec(rule, family)
  return spec === '' ? `-A ${checkName(chain)}` : `-A ${checkName(chain)} ${spec}`
}

/** Returns the text after `-A CHAIN `; also for `-I`, `-D` and comparisons. */
export function renderRuleSpec(rule: Rule, family: IpFamily = 'IPv4'): string {
  const words: string[] = []
  for (const match of rule.matches) words.push(...sourceWords(match, family))
  for (const match of rule.matches) words.push(...destinationWords(match, family))
  for (const match of rule.matches) words.push(...interfaceWords(match))
  const protocol = protocolOf(rule)
  if (protocol !== undefined) words.push('-p', protocol)
  for (const match of rule.matches) words.push(...extensionWords(match, family))
  if (rule.comment !== undefined) words.push('-m comment --comment', quote(cleanComment(rule.comment)))
  if (rule.target !== undefined) words.push(...targetWords(rule.target, family))
  return words.join(' ')
}

function* renderTableChange({ table, set, remove, drop }: TableChange, family: IpFamily): Generator<string, void> {
  const names = [...set.keys()].sort()
  const declared = [...names, ...remove].sort().map((name) => `:${checkName(name)} - [0:0]\n`)
  yield `*${table}\n${declared.join('')}`
  for (const name of names) yield (set.get(name) ?? []).map((rule) => `${renderRule(name, rule, family)}\n`).join('')
  for (const [name, rules] of drop ?? [])
    yield rules.map((rule) => `-D ${checkName(name)} ${renderRuleSpec(rule, family)}\n`).join('')
  const removals = [...remove].sort().map((name) => `-X ${name}\n`)
  yield `${removals.join('')}COMMIT\n`
}

/** The kernel knows no match on "every address", and does not print one. */
function addressWords(option: '-s' | '-d', match: Prelude): string[] {
  if (match.cidr.endsWith('/0') && match.negated !== true) return []
  return [...not(match.negated), option, match.cidr]
}

function sourceWords(match: Match, family: IpFamily): string[] {
  if (match.kind === 'address-bit' && match.side === 'source') return bitWords('-s', match, family)
  return match.kind === 'source' ? addressWords('-s', match) : []
}

function destinationWords(match: Match, family: IpFamily): string[] {
  if (match.kind === 'address-bit' && match.side === 'destination') return bitWords('-d', match, family)
  if (match.kind === 'destination') return addressWords('-d', match)
  if (match.kind !== 'destination-bits') return []
  const [value, mask] = [match.value, match.mask].map((bits) => lastBits(bits, family))
  return ['-d', `${value}/${mask}`]
}

/** An address that is zero but for its last two bytes. */
function lastBits(bits: number, family: IpFamily): string {
  if (family === 'IPv4') return `0.0.${bits >> 8}.${bits & 0xff}`
  return bits === 0 ? '::' : `::${bits.toString(16)}`
}

/** The first bit is printed as a prefix, for its mask is one. Comparisons ask for IPv4 whatever the family is. */
function bitWords(option: '-s' | '-d', { bit, negated }: AddressBit, asked: IpFamily): string[] {
  const family = bit < addressBits('IPv4') ? asked : 'IPv6'
  const address = bigIntToIp(1n << BigInt(bit), family)
  const text = family === 'IPv6' ? asPrinted(address) : address
  return [...not(negated), option, `${text}/${bit === addressBits(family) - 1 ? '1' : text}`]
}

/** An address whose first 96 bits are zero ends in dots where the 16 after them are not. */
function asPrinted(address: Ip): string {
  const [, high, low] = /^::([\da-f]{1,4}):([\da-f]{1,4})$/.exec(address) ?? []
  if (high === undefined || low === undefined) return address
  const [first, second] = [high, low].map((group) => Number.parseInt(group, 16))
  return `::${dotted(first)}.${dotted(second)}`
}

function dotted(group = 0): string {
  return `${group >> 8}.${group & 0xff}`
}

function interfaceWords(match: Match): string[] {
  return match.kind === 'in-interface' ? [...not(match.negated), '-i', checkInterface(match.name)] : []
}

/** A port match needs `-p` too, and a rule has one protocol at most. */
function protocolOf(rule: Rule): Protocol | 'ipv6-icmp' | undefined {
  if (rule.matches.some(({ kind }) => kind === 'icmpv6-type')) return 'ipv6-icmp'
  let protocol: Protocol | undefined
  for (const match of rule.matches) {
    if (!('protocol' in match)) continue
    if (protocol !== undefined && protocol !== match.protocol)
      throw new NetfilterError('protocol-conflict', `a rule cannot match ${protocol} and ${match.protocol}`)
    protocol = match.protocol
  }
  return protocol
}

function extensionWords(match: Match, family: IpFamily): string[] {
  switch (match.kind) {
    case 'source':
    case 'destination':
    case 'destination-bits':
    case 'address-bit':
    case 'in-interface':
    case 'protocol':
      return []
    case 'destination-port':
      return [`-m ${match.protocol} --dport ${match.port}${match.lastPort === undefined ? '' : `:${match.lastPort}`}`]
    case 'in-set':
      return ['-m set', ...not(match.negated), `--match-set ${checkSetName(match.set)} ${renderSides(match.by)}`]
    case 'destination-ports':
      return [`-m multiport --dports ${renderPorts(match.ports)}`]
    case 'icmpv6-type':
      return [`-m icmp6 --icmpv6-type ${match.type}`]
    case 'address-type':
      return [`-m addrtype --${match.side === 'source' ? 'src' : 'dst'}-type ${match.type}`]
    case 'connection-state':
      return ['-m conntrack', ...not(match.negated), '--ctstate', renderStates(match.states)]
    case 'mark':
      return ['-m mark', ...not(match.negated), '--mark', renderMark(match.value, match.mask)]
    case 'statistic':
      return [`-m statistic --mode random --probability ${match.probability.toFixed(10)}`]
    case 'recent-set':
      return [`-m recent --set --name ${checkName(match.list)} --mask ${hostMask(family)} --rsource`]
    case 'recent-check':
      return [
        `-m recent --rcheck --seconds ${match.seconds} --reap`,
        `--name ${checkName(match.list)} --mask ${hostMask(family)} --rsource`,
      ]
  }
}

function targetWords(target: Target, family: IpFamily): string[] {
  switch (target.kind) {
    case 'jump':
      return ['-j', checkName(target.chain)]
    case 'goto':
      return ['-g', checkName(target.chain)]
    case 'accept':
    case 'drop':
    case 'return':
      return ['-j', target.kind.toUpperCase()]
    case 'reject':
      if (target.withReset) return ['-j REJECT --reject-with tcp-reset']
      return [`-j REJECT --reject-with ${family === 'IPv4' ? 'icmp' : 'icmp6'}-port-unreachable`]
    case 'dnat':
      return ['-j DNAT --to-destination', renderAddressPort(target.address, target.port)]
    case 'masquerade':
      return target.randomFully ? ['-j MASQUERADE --random-fully'] : ['-j MASQUERADE']
    case 'mark-or':
      return [`-j MARK --set-xmark ${hex(target.mask)}/${hex(target.mask)}`]
    case 'mark-xor':
      return [`-j MARK --set-xmark ${hex(target.mask)}/0x0`]
    case 'add-to-set':
      return [
        `-j SET --add-set ${checkSetName(target.set)} ${renderSides(target.by)}`,
        ...(target.refresh ? ['--exist'] : []),
      ]
  }
}

function renderSides(sides: readonly Side[]): string {
  return sides.join(',')
}

const maxPortNumbers = 15

function renderPorts(ports: readonly PortRange[]): string {
  const numbers = ports.reduce((sum, { first, last }) => sum + (first === last ? 1 : 2), 0)
  if (numbers === 0 || numbers > maxPortNumbers)
    throw new NetfilterError('too-many-ports', `a rule cannot match ${numbers} port numbers`, {
      remedy: `expected 1 to ${maxPortNumbers}, a range counts two`,
    })
  return ports.map(({ first, last }) => (first === last ? `${first}` : `${first}:${last}`)).join(',')
}

function not(negated: boolean | undefined): string[] {
  return negated === true ? ['!'] : []
}

const statesAsPrinted: readonly ConnectionState[] = ['INVALID', 'NEW', 'RELATED', 'ESTABLISHED', 'DNAT']

function renderStates(states: readonly ConnectionState[]): string {
  return statesAsPrinted.filter((state) => states.includes(state)).join(',')
}

function renderMark(value: number, mask: number): string {
  return mask === 0xffffffff ? hex(value) : `${hex(value)}/${hex(mask)}`
}

function hex(value: number): string {
  return `0x${value.toString(16)}`
}

function hostMask(family: IpFamily): string {
  return family === 'IPv4' ? '255.255.255.255' : 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'
}

/** Names are ours by construction; this keeps a mistake from ever becoming another line. */
function checkName(name: string): string {
  if (/^[A-Z][A-Z0-9-]{0,27}$/.test(name)) return name
  throw new NetfilterError('bad-chain-name', `${JSON.stringify(name)} is no name for a chain or list`, {
    remedy: 'expected at most 28 characters of A-Z, 0-9 and -',
  })
}

/** Names of links come from options; the kernel's own limit is 15 characters. */
export function checkInterface(name: string): string {
  if (/^[A-Za-z0-9_.-]{1,15}\+?$/.test(name)) return name
  throw new NetfilterError('bad-interface-name', `${JSON.stringify(name)} is no name for a network interface`, {
    remedy: 'expected at most 15 characters of A-Z, a-z, 0-9, _, . and -',
  })
}

/**
 * Limits a comment to what the kernel stores: 255 bytes (XT_MAX_COMMENT_LEN less its zero), printable ASCII; any other
 * character becomes `?`.
 */
function cleanComment(comment: string): string {
  const printable = /[^\x20-\x7e]/.test(comment) ? comment.replace(/[^\x20-\x7e]/g, '?') : comment
  return printable.slice(0, 255)
}

/** Quotes as iptables-save does. */
function quote(text: string): string {
  return /^[A-Za-z0-9_-]+$/.test(text) ? text : `"${text.replace(/["'\\]/g, '\\$&')}"`
}
