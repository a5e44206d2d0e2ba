import { NetfilterSocket } from '../../host/index.ts'
import type { Component } from '../../loop/component.ts'
import { describeError } from '../../model/errors.ts'
import type { IpFamily } from '../../model/ip.ts'
import { forwardHooks, proxyHooks } from '../../netfilter/hooks.ts'
import { chains } from '../../netfilter/names.ts'
import { ElementRuleset } from '../../netfilter/nft/element-ruleset.ts'
import {
  ForwardRules,
  type ForwardTables,
  IptablesMode,
  NftablesMode,
  type ProxyMode,
  type ProxySettings,
} from '../../node/proxy/index.ts'
import {
  cleanupProxyRules,
  DriftWatch,
  detectIptables,
  ElementDriftWatch,
  Iptables,
  NftWriter,
  nftKernel,
  RulesError,
  RulesWriter,
} from '../../node/rules/index.ts'
import type { Logger } from '../../observe/index.ts'
import type { AgentCore } from './agent-core.ts'
import type { FirstRules } from './first-rules.ts'
import type { ModeChoice } from './proxy-mode-choice.ts'
import { TableHandover } from './table-handover.ts'

/** The kernel's side of the proxy in one family, in one mode. */
export interface ProxyRules {
  readonly mode: ProxyMode
  readonly writer: Pick<RulesWriter, 'preview'>
  /** In start order, before the plane. */
  readonly components: readonly Component[]
  /** Whether the kernel tells who changes these rules. */
  readonly isWatchable: boolean
  /** Reads what rules count; absent in the mode nftables, whose rules count nothing. */
  readonly counters?: Pick<RulesWriter, 'countersOf' | 'jumpsOf'>
  configure(settings: ProxySettings): void
  /** The kernel holds everything but these Services, which it refuses: what the other mode left may go. */
  onComplete(unserved: readonly string[]): void
}

export interface ProxyRulesParts extends Pick<AgentCore, 'run' | 'monitor' | 'repairs'> {
  readonly family: IpFamily
  readonly firstRules: FirstRules
  readonly settings: ProxySettings
  readonly log: Logger
}

export function composeProxyRules(parts: ProxyRulesParts, choice: ModeChoice): Promise<ProxyRules> {
  return choice.name === 'iptables' ? composeIptables(parts, choice) : composeNftables(parts, choice)
}

async function composeIptables(
  { family, run, monitor, repairs, log }: ProxyRulesParts,
  { why }: Extract<ModeChoice, { name: 'iptables' }>,
): Promise<ProxyRules> {
  const iptables = new Iptables(await detectIptables(run, family, 'auto'), run)
  await ensureUsable(iptables)
  const isWatchable = iptables.choice.flavour === 'nft'
  const isWatched = () => isWatchable && monitor.isListening
  const writer = new RulesWriter({
    iptables,
    hooks: proxyHooks(),
    log,
    isWatched,
    observer: repairs('services', family),
  })
  if (isWatchable) monitor.subscribe(new DriftWatch({ family, writer, log }))
  const handover = new TableHandover({ family, run, socket: NetfilterSocket.open(), log })
  return {
    mode: new IptablesMode(family, writer, why),
    writer,
    components: [writer, handover],
    isWatchable,
    counters: writer,
    configure: () => {},
    onComplete: (unserved) => handover.allow(unserved),
  }
}

async function composeNftables(
  { family, settings, firstRules, run, monitor, repairs, log }: ProxyRulesParts,
  { why, session }: Extract<ModeChoice, { name: 'nftables' }>,
): Promise<ProxyRules> {
  const kernel = nftKernel({ session, run, socket: NetfilterSocket.open(), bulkSocket: NetfilterSocket.open() })
  const ruleset = new ElementRuleset(settings)
  const isWatched = () => monitor.isListening
  const observer = repairs('services', family)
  const writer = new NftWriter({ family, kernel, wanted: ruleset, log, isWatched, observer })
  monitor.subscribe(new ElementDriftWatch({ wanted: ruleset, writer, session: kernel, log }))
  const forwardLog = log.child('forward')
  const open = () => openForward({ family, run, monitor, repairs, log: forwardLog })
  const forward = new ForwardRules({ settings, open, log: forwardLog })
  const mode = new NftablesMode({
    why,
    ruleset,
    writer,
    traceForward: (packet, world, isMarked) => forward.trace(packet, world, isMarked),
  })
  return {
    mode,
    writer: { preview: async () => [...(await writer.preview()), ...(await previewForward(forward))] },
    components: [writer, forward],
    isWatchable: true,
    configure: (next) => forward.configure(next),
    onComplete: (unserved) => void firstRules.complete(family).then(() => forward.allow(unserved)),
  }
}

/** Before the table of nftables is complete these rules are not wanted yet. */
async function previewForward(forward: ForwardRules) {
  try {
    return await forward.preview()
  } catch (error) {
    if (error instanceof RulesError && error.code === 'not-synced') return []
    throw error
  }
}

async function openForward({
  family,
  run,
  monitor,
  repairs,
  log,
}: Omit<ProxyRulesParts, 'settings' | 'firstRules'>): Promise<ForwardTables | undefined> {
  try {
    const iptables = new Iptables(await detectIptables(run, family, 'auto'), run)
    const isWatched = () => iptables.choice.flavour === 'nft' && monitor.isListening
    const observer = repairs('forward', family)
    const writer = new RulesWriter({ iptables, hooks: forwardHooks(), tables: ['filter'], log, isWatched, observer })
    if (iptables.choice.flavour === 'nft') monitor.subscribe(new DriftWatch({ family, writer, log }))
    const removeOthers = (keep: ReadonlySet<string>) => cleanupProxyRules(run, family, keep)
    const hasOthers = async () => (await iptables.listChain('nat', chains.services)) !== undefined
    return { writer, removeOthers, hasOthers }
  } catch (error) {
    if (!(error instanceof RulesError && error.code === 'not-found')) throw error
    log.warn('no rules accept what policies of FORWARD refuse', { error: describeError(error) })
    return undefined
  }
}

/** Checks the table nat: a kernel may have a family without address translation for it. Throws RulesError. */
async function ensureUsable(iptables: Iptables): Promise<void> {
  if ((await iptables.listChain('nat', 'PREROUTING')) !== undefined) return
  const { family, program } = iptables.choice
  throw new RulesError('save-failed', `${program} cannot use the table nat of ${family} on this node`)
}
