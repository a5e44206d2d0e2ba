import type { ObjectKey } from '../../model/api-object.ts'
import type { IpFamily } from '../../model/ip.ts'
import type { XorHash } from '../../model/xor-hash.ts'
import { ruleCount } from '../../netfilter/count-size.ts'
import { proxyHooks } from '../../netfilter/hooks.ts'
import { lowerService, type ServiceRules } from '../../netfilter/lower-service.ts'
import { ProxyRuleset } from '../../netfilter/proxy-ruleset.ts'
import { renderRuleSpec } from '../../netfilter/render.ts'
import type { Ruleset, TableChange } from '../../netfilter/ruleset.ts'
import { countLines, noServiceRules, stepsBetween } from '../../netfilter/service-steps.ts'
import type { ProxyRuleSettings } from '../../netfilter/settings.ts'
import { tracePacket } from '../../netfilter/trace/trace-packet.ts'
import type { TracedPacket, TracedWorld, TraceOutcome } from '../../netfilter/trace/types.ts'
import type { FailedLine, RulesWriter, WriteReport } from '../rules/index.ts'
import type { ModeQueueParts, ProxyMode, RuleCounts } from './proxy-mode.ts'
import { RefusalIsolation } from './refusal-isolation.ts'
import { hashChainFormat } from './rule-format.ts'
import type { ServiceForm, ServiceTable } from './service-form.ts'
import type { PlannedService } from './service-plans.ts'
import { type ServiceQueue, WriteQueue } from './write-queue.ts'

type Writer = Pick<RulesWriter, 'recognises' | 'isUnhooked' | 'sync' | 'write' | 'wanted'>

/** Services as chains of iptables in nat and filter. */
export class IptablesMode implements ProxyMode {
  readonly name = 'iptables'
  readonly why: string
  readonly sizeCount = ruleCount
  readonly #family: IpFamily
  readonly #writer: Writer

  constructor(family: IpFamily, writer: Writer, why = '') {
    this.why = why
    this.#family = family
    this.#writer = writer
  }

  hashFormat(settings: ProxyRuleSettings): bigint {
    return hashChainFormat(settings)
  }

  createQueue({ settings, ...parts }: ModeQueueParts): ServiceQueue {
    const form = chainForm(this.#family)
    const table = new ChainTable(settings, this.#writer)
    return new WriteQueue({ ...parts, form, isolation: new RefusalIsolation({ form, table }) })
  }

  recognises(objects: XorHash): Promise<boolean> {
    return this.#writer.recognises(objects)
  }

  isUnhooked(): Promise<boolean> {
    return this.#writer.isUnhooked()
  }

  trace(packet: TracedPacket, world: TracedWorld): readonly TraceOutcome[] {
    return tracePacket(packet, { ...world, ruleset: this.#writer.wanted, hooks: proxyHooks() })
  }

  counts(): RuleCounts {
    const { nat, filter } = this.#writer.wanted
    const rulesOf = (chains: Ruleset['nat']) => chains.values().reduce((sum, chain) => sum + chain.length, 0)
    return { rules: { nat: rulesOf(nat), filter: rulesOf(filter) } }
  }

  chainsOf({ frontends, settings }: PlannedService): readonly string[] {
    return [...lowerService(frontends, settings).chains.keys()]
  }
}

function chainForm(family: IpFamily): ServiceForm<ServiceRules> {
  return {
    lower: lowerService,
    countLines: (before = noServiceRules, after = noServiceRules) => countLines(before, after),
    *stepsBetween(before = noServiceRules, after = noServiceRules, maxLines) {
      for (const step of stepsBetween(before, after, maxLines)) if (step !== after) yield step
    },
    isLineOf: (line, rules) => isLineOf(line, rules, family),
  }
}

/** Whether the line is in one of the Service's own chains, or one of its rules in a chain that all Services share. */
function isLineOf({ chain, text }: FailedLine, rules: ServiceRules, family: IpFamily): boolean {
  if (chain === undefined) return false
  if (rules.chains.has(chain)) return true
  return Object.values(rules.dispatch)
    .flat()
    .some((rule) => text.endsWith(` ${renderRuleSpec(rule, family)}`))
}

/** Hands the chains that differ to the writer. */
class ChainTable implements ServiceTable<ServiceRules> {
  readonly #ruleset: ProxyRuleset
  readonly #writer: Writer
  /** Changes of the ruleset that the writer was not given yet. */
  #unsent: TableChange[] = []
  #isFirst = true

  constructor(settings: ProxyRuleSettings, writer: Writer) {
    this.#ruleset = new ProxyRuleset(settings)
    this.#writer = writer
  }

  get(service: ObjectKey): ServiceRules | undefined {
    return this.#ruleset.rulesOf(service)
  }

  configure(settings: ProxyRuleSettings): void {
    this.#ruleset.configure(settings)
  }

  *updateInSteps(changes: ReadonlyMap<ObjectKey, ServiceRules | undefined>): Iterable<void> {
    this.#unsent.push(...(yield* this.#ruleset.updateInSteps(changes)))
  }

  /** The writer keeps what it was given until the kernel has it, also when this call fails. After a success the kernel has everything. */
  async write(objects: XorHash): Promise<WriteReport> {
    const changes = this.#unsent
    this.#unsent = []
    const sets = this.#ruleset.sets()
    const writer = this.#writer
    const report = await (this.#isFirst ? writer.sync(changes, objects, sets) : writer.write(changes, objects, sets))
    this.#isFirst = false
    return report
  }
}
