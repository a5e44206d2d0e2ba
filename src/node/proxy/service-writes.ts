import { TimeSlice } from '../../loop/time-slice.ts'
import type { ObjectKey } from '../../model/api-object.ts'
import { describeError } from '../../model/errors.ts'
import type { IpFamily } from '../../model/ip.ts'
import type { XorHash } from '../../model/xor-hash.ts'
import type { ServiceRules } from '../../netfilter/lower-service.ts'
import type { ProxyRuleset } from '../../netfilter/proxy-ruleset.ts'
import { renderRuleSpec } from '../../netfilter/render.ts'
import type { TableChange } from '../../netfilter/ruleset.ts'
import type { ProxyRuleSettings } from '../../netfilter/settings.ts'
import { type FailedLine, RulesError, type RulesWriter, type WriteReport } from '../rules/index.ts'
import type { Refusal } from './set-aside.ts'

/** What each Service's rules shall be; undefined for none. */
export type RulesByService = ReadonlyMap<ObjectKey, ServiceRules | undefined>

export interface ServiceWritesParts {
  readonly family: IpFamily
  readonly ruleset: ProxyRuleset
  readonly writer: Pick<RulesWriter, 'sync' | 'write'>
}

/**
 * Writes the rules of Services so that one which the kernel refuses never holds up the others: it is found by the line the
 * kernel names or by halving, gets back the rules it had, and everything else is written.
 */
export class ServiceWrites {
  readonly #parts: ServiceWritesParts
  /** What the kernel took last of each Service. */
  readonly #taken = new Map<ObjectKey, ServiceRules>()
  #unsent: TableChange[] = []
  #isFirst = true

  constructor(parts: ServiceWritesParts) {
    this.#parts = parts
  }

  configure(settings: ProxyRuleSettings): void {
    this.#parts.ruleset.configure(settings)
  }

  /** The rules of a Service that the kernel took last. */
  taken(service: ObjectKey): ServiceRules | undefined {
    return this.#taken.get(service)
  }

  /**
   * Throws what the writer threw where the failure is not one Service's fault; everything then goes out with the next call,
   * whatever that carries. Returns what was refused.
   */
  async write(wanted: RulesByService, objects: XorHash): Promise<{ report: WriteReport; refused: readonly Refusal[] }> {
    await this.#wantInSlices(wanted)
    try {
      const report = await this.#send(objects)
      await this.#take(wanted)
      return { report, refused: [] }
    } catch (error) {
      if (!isRefusal(error)) throw error
      return this.#isolate(wanted, objects, error)
    }
  }

  /** All Services at once would hold up the main loop for a tenth of a second at 10,000 of them. */
  async #wantInSlices(rules: RulesByService): Promise<void> {
    const slice = new TimeSlice()
    const steps = this.#parts.ruleset.updateInSteps(rules)
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done === true) {
        this.#unsent.push(...step.value)
        return
      }
      if (slice.spent) await slice.pause()
    }
  }

  #want(rules: RulesByService): void {
    this.#unsent.push(...this.#parts.ruleset.update(rules))
  }

  /** The writer keeps what it was given until it is written, also when this call fails. */
  async #send(objects: XorHash): Promise<WriteReport> {
    const { ruleset, writer } = this.#parts
    const changes = this.#unsent
    this.#unsent = []
    if (!this.#isFirst) return writer.write(changes, objects, ruleset.sets())
    const report = await writer.sync(ruleset.ruleset(), objects, ruleset.sets())
    this.#isFirst = false
    return report
  }

  async #isolate(wanted: RulesByService, objects: XorHash, error: RulesError) {
    const rest = new Map(wanted)
    const refused: Refusal[] = []
    let failure = error
    for (let culprit = this.#findCulprit(rest, failure.line); culprit !== undefined; ) {
      refused.push({ service: culprit, reason: describeError(failure) })
      rest.delete(culprit)
      const result = await this.#tryOnly(rest, this.#takenOf([culprit]), objects)
      if ('report' in result) return { report: result.report, refused }
      failure = result.failure
      culprit = this.#findCulprit(rest, failure.line)
    }
    const withoutAll = await this.#tryOnly(new Map(), this.#takenOf(rest.keys()), objects)
    if ('failure' in withoutAll) {
      this.#want(rest)
      throw failure
    }
    const halved = await this.#halve([...rest], objects)
    return { report: withoutAll.report, refused: [...refused, ...halved] }
  }

  /** Writes `changes` over what is unwritten already; a Service of `kept` counts as taken when it succeeds. */
  async #tryOnly(
    kept: RulesByService,
    changes: RulesByService,
    objects: XorHash,
  ): Promise<{ report: WriteReport } | { failure: RulesError }> {
    try {
      this.#want(changes)
      const report = await this.#send(objects)
      await this.#take(kept)
      return { report }
    } catch (error) {
      if (isRefusal(error)) return { failure: error }
      throw error
    }
  }

  async #halve(services: readonly (readonly [ObjectKey, ServiceRules | undefined])[], objects: XorHash) {
    const refused: Refusal[] = []
    const waiting = [services]
    for (let some = waiting.pop(); some !== undefined; some = waiting.pop()) {
      const wanted = new Map(some)
      const result = await this.#tryOnly(wanted, wanted, objects)
      if ('report' in result) continue
      this.#want(this.#takenOf(wanted.keys()))
      const middle = Math.ceil(some.length / 2)
      if (some.length > 1) waiting.push(some.slice(middle), some.slice(0, middle))
      else refused.push(...some.map(([service]) => ({ service, reason: describeError(result.failure) })))
    }
    // A writer that still wanted what was refused could put nothing right that others change.
    if (refused.length > 0) await this.#send(objects)
    return refused
  }

  #findCulprit(wanted: RulesByService, line: FailedLine | undefined): ObjectKey | undefined {
    if (line === undefined) return undefined
    const { family } = this.#parts
    for (const [service, rules] of wanted) if (rules !== undefined && isLineOf(line, rules, family)) return service
    return undefined
  }

  #takenOf(services: Iterable<ObjectKey>): RulesByService {
    return new Map(Array.from(services, (service) => [service, this.#taken.get(service)]))
  }

  async #take(wanted: RulesByService): Promise<void> {
    const slice = new TimeSlice()
    for (const [service, rules] of wanted) {
      if (slice.spent) await slice.pause()
      if (rules === undefined) this.#taken.delete(service)
      else this.#taken.set(service, rules)
    }
  }
}

/** The kernel said no; anything else (the lock, a killed program, no program) is nobody's fault among the Services. */
function isRefusal(error: unknown): error is RulesError {
  return error instanceof RulesError && error.code === 'restore-failed'
}

/** One of its own chains, or one of its rules in a chain that all share. */
function isLineOf({ chain, text }: FailedLine, rules: ServiceRules, family: IpFamily): boolean {
  if (chain === undefined) return false
  if (rules.chains.has(chain)) return true
  return Object.values(rules.dispatch)
    .flat()
    .some((rule) => text.endsWith(` ${renderRuleSpec(rule, family)}`))
}
