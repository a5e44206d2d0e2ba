import { parseRuleSpec } from './parse.ts'
import { matchRule, type PacketState } from './trace/match-rule.ts'
import type { TraceContext } from './trace/types.ts'

/** Where the kernel hands packets to base chains of kind filter. */
export type FilterHook = 'INPUT' | 'FORWARD' | 'OUTPUT'

/** A chain that the kernel enters by itself, with everything of its table that its rules may lead to; each decides by itself, whatever others accept. */
export interface BaseChain {
  /** `iptables-nft, table filter, chain FORWARD`, `table inet firewalld, chain filter_FORWARD` */
  readonly where: string
  readonly hook: FilterHook
  readonly policy: 'accept' | 'drop'
  /** The rules, one text each: the rest of an `-A` line, or a line of `nft list chain`. */
  readonly rules: readonly string[]
  /** Other chains of an iptables table, by name; empty for tables written with nft. */
  readonly chains: ReadonlyMap<string, readonly string[]>
  /** Whether our own chains stand in it. */
  readonly isOurs: boolean
}

/** The verdict of a base chain on a packet. */
export interface ForeignVerdict {
  readonly where: string
  readonly verdict: 'accept' | 'drop' | 'reject'
  /** `its policy`, or the rule that decides. */
  readonly by: string
  /** Rules before that which are not understood here, and may decide otherwise. */
  readonly unclear: readonly string[]
}

/** Reads the output of `iptables -t filter -S` as base chains. */
export function readIptablesChains(listed: string, program: string): readonly BaseChain[] {
  const policies = new Map<string, string>()
  const chains = new Map<string, string[]>()
  for (const line of listed.split('\n')) {
    const [, command = '', chain = '', rest = ''] = /^-([PNA]) (\S+) ?(.*)$/.exec(line) ?? []
    if (command === 'P') policies.set(chain, rest.split(' ')[0] ?? '')
    if (command === 'A') chains.set(chain, [...(chains.get(chain) ?? []), rest])
  }
  return (['INPUT', 'FORWARD', 'OUTPUT'] as const).flatMap((hook): BaseChain[] => {
    const policy = policies.get(hook)
    if (policy === undefined) return []
    const rules = chains.get(hook) ?? []
    const isOurs = rules.some((rule) => / -j PLAT-/.test(` ${rule}`))
    const where = `${program}, table filter, chain ${hook}`
    return [{ where, hook, policy: policy === 'DROP' ? 'drop' : 'accept', rules, chains, isOurs }]
  })
}

/** A base chain that `nft list chains` names; its rules are read apart. */
export interface NftBaseChain {
  readonly family: string
  readonly table: string
  readonly chain: string
  readonly hook: FilterHook
  readonly policy: 'accept' | 'drop'
}

/** Reads the base chains of kind filter in tables that iptables does not write. */
export function readNftBaseChains(listed: string): readonly NftBaseChain[] {
  const found: NftBaseChain[] = []
  let [family, table, chain] = ['', '', '']
  for (const line of listed.split('\n')) {
    const [, newFamily, newTable] = /^table (\S+) (\S+) \{/.exec(line) ?? []
    if (newFamily !== undefined && newTable !== undefined) [family, table] = [newFamily, newTable]
    chain = /^\tchain (\S+) \{/.exec(line)?.[1] ?? chain
    const [, hook, policy] = /^\t\ttype filter hook (input|forward|output) .*?(?:policy (\w+);)?$/.exec(line) ?? []
    if (hook === undefined || isOfIptables(family, table, chain)) continue
    found.push({
      family,
      table,
      chain,
      hook: hook.toUpperCase() as FilterHook,
      policy: policy === 'drop' ? 'drop' : 'accept',
    })
  }
  return found
}

/** iptables-nft names its chains as the hooks, in capitals. */
function isOfIptables(family: string, table: string, chain: string): boolean {
  return /^ip6?$/.test(family) && /^(filter|mangle|raw|security)$/.test(table) && chain === chain.toUpperCase()
}

/** Reads the output of `nft list chain` as a base chain. */
export function readNftRules({ family, table, chain, hook, policy }: NftBaseChain, listed: string): BaseChain {
  const lines = listed.split('\n').filter((line) => line.startsWith('\t\t') && !/^\t\ttype /.test(line))
  const where = `table ${family} ${table}, chain ${chain}`
  return { where, hook, policy, rules: lines.map((line) => line.trim()), chains: new Map(), isOurs: false }
}

/**
 * Evaluates a base chain for the first packet of a new connection. `isAcceptedByUs`: our own rules in it have accepted
 * the packet; otherwise our chains are skipped. Rules with words that we do not use are named as unclear where they
 * could decide.
 */
export function evaluateBaseChain(
  base: BaseChain,
  packet: PacketState,
  context: TraceContext,
  isAcceptedByUs: boolean,
): ForeignVerdict {
  const unclear: string[] = []
  if (base.isOurs && isAcceptedByUs) return { where: base.where, verdict: 'accept', by: 'a rule of ours', unclear }
  const isNft = base.where.startsWith('table ')
  const found = isNft
    ? walkNft(base.rules, unclear)
    : walkIptables(base.rules, { base, unclear, isTaken: (rule) => isTaken(rule, packet, context) })
  if (found === undefined || found.verdict === 'return')
    return { where: base.where, verdict: base.policy, by: `its policy ${base.policy.toUpperCase()}`, unclear }
  return { where: base.where, verdict: found.verdict, by: found.by, unclear }
}

interface Decision {
  readonly verdict: ForeignVerdict['verdict'] | 'return'
  readonly by: string
}

const verdictOf: Readonly<Record<string, Decision['verdict']>> = {
  ACCEPT: 'accept',
  DROP: 'drop',
  REJECT: 'reject',
  RETURN: 'return',
}

const maxDepth = 16

interface Walk {
  readonly base: BaseChain
  readonly unclear: string[]
  /** Undefined where it is not known. */
  isTaken(rule: string): boolean | undefined
}

function walkIptables(rules: readonly string[], walk: Walk, depth = 0): Decision | undefined {
  for (const text of rules) {
    const [, kind, target = ''] = / -([jg]) (\S+)/.exec(` ${text}`) ?? []
    const decided = target.startsWith('PLAT-') ? undefined : takeRule(text, target, walk, depth)
    if (decided !== undefined && decided !== 'passed') return decided
    if (kind === 'g' && decided === 'passed') return undefined
  }
  return undefined
}

/** `passed`: it leads to a chain that does not decide. Undefined where it does not take the packet, or may not. */
function takeRule(text: string, target: string, walk: Walk, depth: number): Decision | 'passed' | undefined {
  const verdict = verdictOf[target]
  const next = walk.base.chains.get(target)
  if (verdict === undefined && next === undefined) return undefined
  const isTaken = walk.isTaken(text)
  if (isTaken === undefined) walk.unclear.push(text)
  if (isTaken !== true) return undefined
  if (verdict !== undefined) return { verdict, by: `its rule "${text}"` }
  const inside = depth < maxDepth ? walkIptables(next ?? [], walk, depth + 1) : undefined
  return inside === undefined || inside.verdict === 'return' ? 'passed' : inside
}

/** Undefined where the rule has matches that we do not know. The target does not matter. */
function isTaken(text: string, packet: PacketState, context: TraceContext): boolean | undefined {
  const matches = ` ${text}`.replace(/ -[jg] \S+.*$/, '').trim()
  if (matches === '') return true
  const rule = parseRuleSpec(`${matches} -j RETURN`)
  return rule && matchRule(rule, packet, context) > 0
}

function walkNft(rules: readonly string[], unclear: string[]): Decision | undefined {
  for (const line of rules) {
    const text = line
      .replace(/ ?counter packets \d+ bytes \d+/, '')
      .replace(/ comment ".*"$/, '')
      .trim()
    const [, verdict] = /^(accept|drop|reject)\b/.exec(text) ?? []
    if (verdict !== undefined) return { verdict: verdict as 'accept' | 'drop' | 'reject', by: `its rule "${line}"` }
    const isForOthers = /^ct state (?!vmap)/.test(text) && !/\bnew\b/.test(text)
    if (!isForOthers && /\b(accept|drop|reject|jump|goto|queue|vmap)\b/.test(text)) unclear.push(line)
  }
  return undefined
}
