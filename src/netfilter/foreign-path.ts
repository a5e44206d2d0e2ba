import { type ForeignPacket, type ForeignRule, readIptablesRule, readNftRule } from './foreign-match.ts'
import type { TracedWorld } from './trace/types.ts'

/** Where the kernel hands packets to base chains of kind filter. */
export type FilterHook = 'INPUT' | 'FORWARD' | 'OUTPUT'

/** A chain that the kernel enters by itself, with everything of its table that its rules may lead to; each decides by itself, whatever others accept. */
export interface BaseChain {
  /** `iptables-nft, table filter, chain FORWARD`, `table inet firewalld, chain filter_FORWARD` */
  readonly where: string
  readonly hook: FilterHook
  readonly policy: 'accept' | 'drop'
  /** The rules, one text each: the rest of an `-A` line, or a line of `nft list table`. */
  readonly rules: readonly string[]
  /** All chains of its table that have rules, by name. */
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
  /** The chain where that rule stands; the base chain itself for its policy. */
  readonly chain: string
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
    if (command === 'A') chains.getOrInsert(chain, []).push(rest)
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

/** Reads the base chains of kind filter in tables that neither iptables nor this program writes. */
export function readNftBaseChains(listed: string): readonly NftBaseChain[] {
  const found: NftBaseChain[] = []
  let [family, table, chain] = ['', '', '']
  for (const line of listed.split('\n')) {
    const [, newFamily, newTable] = /^table (\S+) (\S+) \{/.exec(line) ?? []
    if (newFamily !== undefined && newTable !== undefined) [family, table] = [newFamily, newTable]
    chain = /^\tchain (\S+) \{/.exec(line)?.[1] ?? chain
    const [, hook, policy] = /^\t\ttype filter hook (input|forward|output) .*?(?:policy (\w+);)?$/.exec(line) ?? []
    if (hook === undefined || isOfIptables(family, table, chain) || table === 'platnet') continue
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

/** Reads the output of `nft list table` as a base chain with the chains of its table. */
export function readNftRules({ family, table, chain, hook, policy }: NftBaseChain, listed: string): BaseChain {
  const chains = new Map<string, string[]>()
  let name = ''
  for (const line of listed.split('\n')) {
    name = /^\tchain (\S+) \{/.exec(line)?.[1] ?? name
    if (line.startsWith('\t\t') && !/^\t\ttype /.test(line)) chains.getOrInsert(name, []).push(line.trim())
  }
  const where = `table ${family} ${table}, chain ${chain}`
  return { where, hook, policy, rules: chains.get(chain) ?? [], chains, isOurs: false }
}

/**
 * Evaluates a base chain for the first packet of a new connection. `isAcceptedByUs`: our own rules in it have accepted
 * the packet; otherwise our chains are skipped. Rules with words that we do not use are named as unclear where they
 * could decide.
 */
export function evaluateBaseChain(
  base: BaseChain,
  packet: ForeignPacket,
  context: TracedWorld,
  isAcceptedByUs: boolean,
): ForeignVerdict {
  const { where, hook, policy } = base
  const unclear: string[] = []
  const chain = /chain (\S+)$/.exec(where)?.[1] ?? hook
  if (base.isOurs && isAcceptedByUs) return { where, verdict: 'accept', by: 'a rule of ours', chain, unclear }
  const read = where.startsWith('table ') ? readNftRule : readIptablesRule
  const found = walk(chain, base.rules, { base, unclear, read: (rule) => read(rule, packet, context) })
  if (found === undefined || found.verdict === 'return')
    return { where, verdict: policy, by: `its policy ${policy.toUpperCase()}`, chain, unclear }
  const by = `its rule "${found.rule}"${found.chain === chain ? '' : ` in chain ${found.chain}`}`
  return { where, verdict: found.verdict, by, chain: found.chain, unclear }
}

interface Decision {
  readonly verdict: ForeignVerdict['verdict'] | 'return'
  readonly rule: string
  readonly chain: string
}

const maxDepth = 16

interface Walk {
  readonly base: BaseChain
  readonly unclear: string[]
  read(rule: string): ForeignRule
}

function walk(chain: string, rules: readonly string[], context: Walk, depth = 0): Decision | undefined {
  for (const text of rules) {
    const rule = context.read(text)
    const decided = rule.chain?.startsWith('PLAT-') ? undefined : takeRule(text, rule, { ...context, chain, depth })
    if (decided !== undefined && decided !== 'passed') return decided
    if (rule.isGoto && decided === 'passed') return undefined
  }
  return undefined
}

/** `passed`: it leads to a chain that does not decide. Undefined where it does not take the packet, or may not. */
function takeRule(
  text: string,
  { verdict, chain: target = '', isTaken }: ForeignRule,
  context: Walk & { readonly chain: string; readonly depth: number },
): Decision | 'passed' | undefined {
  const { base, unclear, chain, depth } = context
  const next = base.chains.get(target)
  if (verdict === undefined && next === undefined) return undefined
  if (isTaken === undefined) unclear.push(text)
  if (isTaken !== true) return undefined
  if (verdict !== undefined) return { verdict, rule: text, chain }
  const inside = depth < maxDepth ? walk(target, next ?? [], context, depth + 1) : undefined
  return inside === undefined || inside.verdict === 'return' ? 'passed' : inside
}
