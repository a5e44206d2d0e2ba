import { type IpFamily, ipToBigInt, parseCidr, parseIp } from '../model/ip.ts'
import { renderRuleSpec } from './render.ts'
import type { ConnectionState, Match, PortRange, Rule, Side, TableName, Target } from './ruleset.ts'

/** A rule in one of our chains that we would never write: kept as text, equal to none of ours. */
interface UnparsedRule {
  readonly unparsed: string
}

export type SavedRule = Rule | UnparsedRule

/** A chain as the kernel holds it. Every `Chain` is one. */
export type SavedChain = readonly SavedRule[]

/** A rule outside our chains that leads into one of them. */
export interface SavedHook {
  /** The chain it stands in, usually a built-in one. */
  readonly chain: string
  /** Its number in that chain, 1 for the first, as `iptables -D CHAIN NUMBER` counts. */
  readonly position: number
  /** How many rules that are not ours stand before it. */
  readonly foreignBefore: number
  readonly rule: SavedRule
}

export interface SavedTable {
  /** Our chains (`PLAT-*`) only. */
  readonly chains: ReadonlyMap<string, SavedChain>
  readonly hooks: readonly SavedHook[]
}

export type SavedTables = Readonly<Record<TableName, SavedTable>>

/**
 * Reads what `iptables-save` or `iptables -S` prints (1.8.9, nft and legacy, with or without counters); never throws.
 * `-S` names no table, so the caller says which one was listed.
 */
export function parseSave(text: string, listedTable: TableName = 'filter'): SavedTables {
  const parser = new SaveParser(listedTable)
  for (const line of text.split('\n')) parser.readLine(line)
  return parser.finish()
}

/** The rules that the kernel probably holds. Where the text is equal they are used, which is faster than parsing. */
export interface ExpectedRules {
  readonly chains: ReadonlyMap<string, SavedChain>
  readonly family: IpFamily
}

/** Parses one table line by line, so that the caller can pause in between. */
export class SaveParser {
  readonly #tables: Record<TableName, TableReader>
  readonly #listedTable: TableName
  #reader: TableReader | undefined

  constructor(listedTable: TableName, expected?: ExpectedRules) {
    const reader = (table: TableName) => new TableReader(table === listedTable ? expected : undefined)
    this.#tables = { nat: reader('nat'), filter: reader('filter'), mangle: reader('mangle') }
    this.#listedTable = listedTable
    this.#reader = this.#tables[listedTable]
  }

  /** The table that was listed, up to here. */
  get listed(): SavedTable {
    return this.#tables[this.#listedTable].finish()
  }

  readLine(line: string): void {
    if (line.startsWith('*')) this.#reader = tableOf(this.#tables, line.slice(1).trim())
    else this.#reader?.readLine(line)
  }

  finish(): SavedTables {
    const { nat, filter, mangle } = this.#tables
    return { nat: nat.finish(), filter: filter.finish(), mangle: mangle.finish() }
  }
}

/** Whether the kernel would treat both alike, the comment included; a probability counts as the kernel rounds it. */
export function equalRules(a: SavedRule, b: SavedRule): boolean {
  if (a === b) return true
  if ('unparsed' in a || 'unparsed' in b) return 'unparsed' in a && 'unparsed' in b && a.unparsed === b.unparsed
  return renderRuleSpec(snapProbability(a)) === renderRuleSpec(snapProbability(b))
}

export function equalChains(a: SavedChain, b: SavedChain): boolean {
  return a === b || (a.length === b.length && a.every((rule, index) => equalRules(rule, b[index] ?? { unparsed: '' })))
}

/** Parses the text after `-A CHAIN `; returns undefined where any part of it is not in the vocabulary of `Rule`. */
export function parseRuleSpec(spec: string): Rule | undefined {
  const parts: RulePart[] = []
  for (let rest = spec.trim(); rest !== ''; ) {
    const found = parseClause(rest)
    if (found === undefined) return undefined
    parts.push(found.part)
    rest = rest.slice(found.length).trimStart()
  }
  return assembleRule(parts)
}

class TableReader {
  readonly #expected: ExpectedRules | undefined
  readonly #chains = new Map<string, SavedRule[]>()
  readonly #hooks: SavedHook[] = []
  readonly #counts = new Map<string, { rules: number; foreign: number }>()

  constructor(expected?: ExpectedRules) {
    this.#expected = expected
  }

  readLine(line: string): void {
    const declared = /^(?::|-N )(PLAT-\S+)/.exec(line)?.[1]
    if (declared !== undefined) this.#chainOf(declared)
    const [, chain, spec] = /^(?:\[\d+:\d+\] )?-A (\S+) ?(.*)$/.exec(line) ?? []
    if (chain === undefined || spec === undefined) return
    if (chain.startsWith('PLAT-')) this.#readOurs(chain, spec)
    else this.#readForeignChain(chain, spec)
  }

  #readOurs(name: string, spec: string): void {
    const rules = this.#chainOf(name)
    const expected = this.#expected?.chains.get(name)?.[rules.length]
    const isExpected = expected !== undefined && spec === savedSpec(expected, this.#expected?.family)
    rules.push(isExpected ? expected : readRule(spec))
  }

  finish(): SavedTable {
    return { chains: this.#chains, hooks: this.#hooks }
  }

  #chainOf(name: string): SavedRule[] {
    const rules = this.#chains.get(name) ?? []
    this.#chains.set(name, rules)
    return rules
  }

  #readForeignChain(chain: string, spec: string): void {
    const { rules, foreign } = this.#counts.get(chain) ?? { rules: 0, foreign: 0 }
    const isOurs = / -[jg] PLAT-\S+$/.test(` ${spec}`)
    this.#counts.set(chain, { rules: rules + 1, foreign: foreign + (isOurs ? 0 : 1) })
    if (isOurs) this.#hooks.push({ chain, position: rules + 1, foreignBefore: foreign, rule: readRule(spec) })
  }
}

function tableOf(tables: Record<TableName, TableReader>, name: string): TableReader | undefined {
  return name === 'nat' || name === 'filter' || name === 'mangle' ? tables[name] : undefined
}

function readRule(spec: string): SavedRule {
  return parseRuleSpec(spec) ?? { unparsed: spec }
}

type RulePart =
  | { readonly match: Match }
  | { readonly target: Target }
  | { readonly comment: string }
  /** Ports; their protocol stands in a match before. */
  | { readonly ports: readonly PortRange[] }
type Groups = readonly (string | undefined)[]
type Clause = readonly [pattern: RegExp, build: (groups: Groups) => RulePart | undefined]

/** The reverse of render.ts, clause by clause. */
const clauses: readonly Clause[] = [
  [/^(! )?-s (\S+)\/(\S*[.:]\S*)(?= |$)/, ([, negated, value, mask]) => bitPart('source', value, mask, negated)],
  [/^(! )?-s (\S+)/, ([, negated, cidr]) => addressPart('source', cidr, negated)],
  [/^-d 0\.0\.(\d+)\.(\d+)\/0\.0\.(\d+)\.(\d+)(?= |$)/, (groups) => bitsPartOfIpv4(groups)],
  [/^-d ::([\da-f]{0,4})\/::([\da-f]{1,4})(?= |$)/, ([, value, mask]) => bitsPart(value, mask)],
  [/^(! )?-d (\S+)\/(\S*[.:]\S*)(?= |$)/, ([, negated, value, mask]) => bitPart('destination', value, mask, negated)],
  [/^(! )?-d (\S+)/, ([, negated, cidr]) => addressPart('destination', cidr, negated)],
  [/^-p (tcp|udp|sctp)(?= |$)/, ([, name]) => protocolPart(name)],
  [/^(! )?-i (\S+)/, ([, negated, name = '']) => ({ match: { kind: 'in-interface', name, ...isNegated(negated) } })],
  [/^-m (tcp|udp|sctp) --dport (\d+)(?::(\d+))?(?= |$)/, ([, name, port, last]) => portPart(name, port, last)],
  [/^-m comment --comment ("(?:[^"\\]|\\.)*"|[^\s"]+)/, ([, text = '']) => ({ comment: unquote(text) })],
  [/^-m statistic --mode random --probability ([\d.]+)/, ([, text]) => probabilityPart(text)],
  [/^-m addrtype --(src|dst)-type LOCAL(?= |$)/, ([, side]) => addressTypePart(side)],
  [/^-m conntrack (! )?--ctstate ([A-Z,]+)/, ([, negated, states = '']) => statesPart(states, negated)],
  [/^-m mark (! )?--mark (0x[\da-f]+)(?:\/(0x[\da-f]+))?/, ([, not, value, mask]) => markPart(value, mask, not)],
  [/^-m recent --set --name (\S+) --mask \S+ --rsource/, ([, list = '']) => ({ match: { kind: 'recent-set', list } })],
  [
    /^-m recent --rcheck --seconds (\d+) --reap --name (\S+) --mask \S+ --rsource/,
    ([, seconds, list = '']) => ({ match: { kind: 'recent-check', list, seconds: Number(seconds) } }),
  ],
  [/^-m set (! )?--match-set (\S+) ((?:src|dst)(?:,(?:src|dst))*)(?= |$)/, ([, not, set, by]) => setPart(set, by, not)],
  [/^-m multiport --dports ([\d,:]+)(?= |$)/, ([, ports = '']) => ({ ports: portsPart(ports) })],
  [
    /^-p ipv6-icmp -m icmp6 --icmpv6-type (\d+)(?= |$)/,
    ([, type]) => ({ match: { kind: 'icmpv6-type', type: Number(type) } }),
  ],
  [
    /^-j SET --add-set (\S+) ((?:src|dst)(?:,(?:src|dst))*)( --exist)?$/,
    ([, set = '', by, exist]) => ({ target: { kind: 'add-to-set', set, by: sidesOf(by), refresh: !!exist } }),
  ],
  [/^-j ACCEPT$/, () => ({ target: { kind: 'accept' } })],
  [/^-j DROP$/, () => ({ target: { kind: 'drop' } })],
  [/^-j RETURN$/, () => ({ target: { kind: 'return' } })],
  [/^-j REJECT --reject-with tcp-reset$/, () => ({ target: { kind: 'reject', withReset: true } })],
  [/^-j REJECT --reject-with icmp6?-port-unreachable$/, () => ({ target: { kind: 'reject' } })],
  [/^-j DNAT --to-destination \[?([\da-f.:]+?)\]?:(\d+)$/, ([, address, port]) => dnatPart(address, port)],
  [/^-j MASQUERADE( --random-fully)?$/, ([, fully]) => ({ target: { kind: 'masquerade', randomFully: !!fully } })],
  [/^-j MARK --set-xmark 0x([\da-f]+)\/0x([\da-f]+)$/, ([, value, mask]) => setMarkPart(value, mask)],
  [/^-j (PLAT-\S+)$/, ([, chain = '']) => ({ target: { kind: 'jump', chain } })],
  [/^-g (PLAT-\S+)$/, ([, chain = '']) => ({ target: { kind: 'goto', chain } })],
]

function parseClause(text: string): { part: RulePart; length: number } | undefined {
  for (const [pattern, build] of clauses) {
    const groups = pattern.exec(text)
    if (groups === null) continue
    const part = build(groups)
    return part === undefined ? undefined : { part, length: groups[0].length }
  }
  return undefined
}

function assembleRule(parts: readonly RulePart[]): Rule | undefined {
  const matches = matchesOf(parts)
  const comments = parts.flatMap((part) => ('comment' in part ? [part.comment] : []))
  const targets = parts.flatMap((part) => ('target' in part ? [part.target] : []))
  if (matches === undefined || comments.length > 1 || targets.length > 1) return undefined
  const [comment] = comments
  const [target] = targets
  return {
    matches: withoutImpliedProtocol(matches),
    ...(target === undefined ? {} : { target }),
    ...(comment === undefined ? {} : { comment }),
  }
}

/** Undefined where ports stand without their protocol. */
function matchesOf(parts: readonly RulePart[]): readonly Match[] | undefined {
  const matches: Match[] = []
  for (const part of parts) {
    if ('match' in part) matches.push(part.match)
    if (!('ports' in part)) continue
    const protocol = matches.find((match) => match.kind === 'protocol')?.protocol
    if (protocol === undefined) return undefined
    matches.push({ kind: 'destination-ports', protocol, ports: part.ports })
  }
  return matches
}

/** `-p tcp` beside `--dport` says nothing that the port match does not. */
function withoutImpliedProtocol(matches: readonly Match[]): readonly Match[] {
  const hasPort = matches.some(({ kind }) => kind === 'destination-port' || kind === 'destination-ports')
  return hasPort ? matches.filter((match) => match.kind !== 'protocol') : matches
}

function addressPart(kind: 'source' | 'destination', text = '', negated?: string): RulePart | undefined {
  const cidr = parseCidr(text)
  return cidr && { match: { kind, cidr, ...isNegated(negated) } }
}

function protocolPart(name: string | undefined): RulePart | undefined {
  const protocol = protocolOf(name)
  return protocol && { match: { kind: 'protocol', protocol } }
}

function portPart(name: string | undefined, port: string | undefined, last?: string): RulePart | undefined {
  const protocol = protocolOf(name)
  const range = last === undefined ? {} : { lastPort: Number(last) }
  return protocol && { match: { kind: 'destination-port', protocol, port: Number(port), ...range } }
}

/** `0.0.0.16/0.0.0.240`, `::10/::f0`: all but the last two bytes is zero in both. */
function bitsPart(value = '', mask = ''): RulePart {
  return {
    match: { kind: 'destination-bits', value: Number.parseInt(`0${value}`, 16), mask: Number.parseInt(mask, 16) },
  }
}

function bitsPartOfIpv4([, ...groups]: Groups): RulePart | undefined {
  const bytes = groups.map(Number)
  if (bytes.some((byte) => byte > 255)) return undefined
  const [valueHigh = 0, valueLow = 0, maskHigh = 0, maskLow = 0] = bytes
  const [value, mask] = [valueHigh * 256 + valueLow, maskHigh * 256 + maskLow]
  return { match: { kind: 'destination-bits', value, mask } }
}

/** One bit in both; of more than one, undefined. */
function bitPart(side: 'source' | 'destination', value = '', mask = '', negated?: string): RulePart | undefined {
  const address = value === mask ? parseIp(value) : undefined
  const bits = address === undefined ? '' : ipToBigInt(address).toString(2)
  if (!/^10*$/.test(bits)) return undefined
  return { match: { kind: 'address-bit', side, bit: bits.length - 1, ...isNegated(negated) } }
}

function setPart(set = '', by?: string, negated?: string): RulePart {
  return { match: { kind: 'in-set', set, by: sidesOf(by), ...isNegated(negated) } }
}

function sidesOf(text = ''): readonly Side[] {
  return text.split(',').map((side) => (side === 'src' ? 'src' : 'dst'))
}

function portsPart(text: string): readonly PortRange[] {
  return text.split(',').map((range) => {
    const [first, last] = range.split(':').map(Number)
    return { first: first ?? 0, last: last ?? first ?? 0 }
  })
}

function protocolOf(name: string | undefined): 'tcp' | 'udp' | 'sctp' | undefined {
  return name === 'tcp' || name === 'udp' || name === 'sctp' ? name : undefined
}

function probabilityPart(text: string | undefined): RulePart {
  return { match: { kind: 'statistic', probability: Number(text) } }
}

function addressTypePart(side: string | undefined): RulePart {
  return { match: { kind: 'address-type', side: side === 'src' ? 'source' : 'destination', type: 'LOCAL' } }
}

function statesPart(text: string, negated: string | undefined): RulePart | undefined {
  const states = text.split(',')
  return states.every(isConnectionState)
    ? { match: { kind: 'connection-state', states, ...isNegated(negated) } }
    : undefined
}

function isConnectionState(word: string): word is ConnectionState {
  return ['NEW', 'ESTABLISHED', 'RELATED', 'INVALID', 'DNAT'].includes(word)
}

function markPart(value: string | undefined, mask = '0xffffffff', negated?: string): RulePart {
  return { match: { kind: 'mark', value: Number(value), mask: Number(mask), ...isNegated(negated) } }
}

function setMarkPart(value = '', mask = ''): RulePart | undefined {
  const bits = Number.parseInt(value, 16)
  if (value === mask) return { target: { kind: 'mark-or', mask: bits } }
  return mask === '0' ? { target: { kind: 'mark-xor', mask: bits } } : undefined
}

function dnatPart(text = '', port?: string): RulePart | undefined {
  const address = parseIp(text)
  return address && { target: { kind: 'dnat', address, port: Number(port) } }
}

function isNegated(text: string | undefined): { negated?: true } {
  return text === undefined ? {} : { negated: true }
}

function unquote(text: string): string {
  return text.startsWith('"') ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text
}

/** Renders one of our rules letter for letter as iptables prints it once it is in the kernel. */
function savedSpec(rule: SavedRule, family: IpFamily | undefined): string {
  if ('unparsed' in rule) return rule.unparsed
  const spec = renderRuleSpec(rule, family)
  if (!rule.matches.some((match) => match.kind === 'statistic')) return spec
  return spec.replace(/--probability ([\d.]+)/, (_, text) => `--probability ${snap(Number(text)).toFixed(11)}`)
}

/** The kernel keeps 31 bits; iptables read ten decimals of ours and prints eleven of its own. */
function snap(probability: number): number {
  return Math.round(Number(probability.toFixed(10)) * 2 ** 31) / 2 ** 31
}

function snapProbability(rule: Rule): Rule {
  if (!rule.matches.some((match) => match.kind === 'statistic')) return rule
  const matches = rule.matches.map((match) =>
    match.kind === 'statistic' ? { ...match, probability: snap(match.probability) } : match,
  )
  return { ...rule, matches }
}
