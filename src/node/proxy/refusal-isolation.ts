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

/** The rules that each Service should have; undefined for none. */
export type RulesByService = ReadonlyMap<ObjectKey, ServiceRules | undefined>

export interface RefusalIsolationParts {
  readonly family: IpFamily
  readonly ruleset: ProxyRuleset
  readonly writer: Pick<RulesWriter, 'sync' | 'write'>
}

/**
 * Writes the rules of Services so that one which the kernel refuses never delays the others: it is found by the line that the
 * kernel names or by halving, gets back the rules it had, and everything else is written.
 */
export class RefusalIsolation {
  readonly #parts: RefusalIsolationParts
  /** The rules that the kernel took last of each Service whose newer rules it has not taken yet. */
  readonly #takenBefore = new Map<ObjectKey, ServiceRules | undefined>()
  /** Changes of the ruleset that the writer was not given yet. */
  #unsent: TableChange[] = []
  #isFirst = true

  constructor(parts: RefusalIsolationParts) {
    this.#parts = parts
  }

  configure(settings: ProxyRuleSettings): void {
    this.#parts.ruleset.configure(settings)
  }

  /** The rules of a Service that the kernel took last. */
  taken(service: ObjectKey): ServiceRules | undefined {
    const isInFlight = this.#takenBefore.has(service)
    return isInFlight ? this.#takenBefore.get(service) : this.#parts.ruleset.rulesOf(service)
  }

  /**
   * Returns what was refused. Throws what the writer threw where no single Service causes the failure; everything then goes out
   * with the next call, whatever that carries.
   */
  async apply(wanted: RulesByService, objects: XorHash): Promise<{ report: WriteReport; refused: readonly Refusal[] }> {
    await this.#updateInTimeSlices(wanted)
    try {
      return { report: await this.#send(objects), refused: [] }
    } catch (error) {
      if (!isRefusal(error)) throw error
      return this.#isolate(wanted, objects, error)
    }
  }

  /** An update of 10,000 Services at once would block the main loop for a tenth of a second. */
  async #updateInTimeSlices(rules: RulesByService): Promise<void> {
    this.#rememberTaken(rules)
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

  #update(rules: RulesByService): void {
    this.#rememberTaken(rules)
    this.#unsent.push(...this.#parts.ruleset.update(rules))
  }

  #rememberTaken(rules: RulesByService): void {
    for (const service of rules.keys()) {
      if (!this.#takenBefore.has(service)) this.#takenBefore.set(service, this.#parts.ruleset.rulesOf(service))
    }
  }

  /** The writer keeps what it was given until the kernel has it, also when this call fails. After a success the kernel has everything. */
  async #send(objects: XorHash): Promise<WriteReport> {
    const { ruleset, writer } = this.#parts
    const changes = this.#unsent
    this.#unsent = []
    const sets = ruleset.sets()
    const report = await (this.#isFirst ? writer.sync(changes, objects, sets) : writer.write(changes, objects, sets))
    this.#isFirst = false
    this.#takenBefore.clear()
    return report
  }

  async #isolate(wanted: RulesByService, objects: XorHash, error: RulesError) {
    const rest = new Map(wanted)
    const refused: Refusal[] = []
    let failure = error
    for (let culprit = this.#findCulprit(rest, failure.line); culprit !== undefined; ) {
      refused.push({ service: culprit, reason: describeError(failure) })
      rest.delete(culprit)
      const result = await this.#try(this.#takenOf([culprit]), objects)
      if ('report' in result) return { report: result.report, refused }
      failure = result.failure
      culprit = this.#findCulprit(rest, failure.line)
    }
    const withoutAll = await this.#try(this.#takenOf(rest.keys()), objects)
    if ('failure' in withoutAll) {
      this.#update(rest)
      throw failure
    }
    const halved = await this.#halve([...rest], objects)
    return { report: withoutAll.report, refused: [...refused, ...halved] }
  }

  /** Writes `changes` beside what is unwritten already. */
  async #try(changes: RulesByService, objects: XorHash): Promise<{ report: WriteReport } | { failure: RulesError }> {
    try {
      this.#update(changes)
      return { report: await this.#send(objects) }
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
      const result = await this.#try(wanted, objects)
      if ('report' in result) continue
      this.#update(this.#takenOf(wanted.keys()))
      const middle = Math.ceil(some.length / 2)
      if (some.length > 1) waiting.push(some.slice(middle), some.slice(0, middle))
      else refused.push(...some.map(([service]) => ({ service, reason: describeError(result.failure) })))
    }
    // A writer that still wanted the refused rules could not repair what others change.
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
    return new Map(Array.from(services, (service) => [service, this.taken(service)]))
  }
}

/** The kernel refused the rules; no Service causes any other failure (the lock, a killed program, no program). */
function isRefusal(error: unknown): error is RulesError {
  return error instanceof RulesError && error.code === 'restore-failed'
}

/** Whether the line is in one of the Service's own chains, or one of its rules in a chain that all Services share. */
function isLineOf({ chain, text }: FailedLine, rules: ServiceRules, family: IpFamily): boolean {
  if (chain === undefined) return false
  if (rules.chains.has(chain)) return true
  return Object.values(rules.dispatch)
    .flat()
    .some((rule) => text.endsWith(` ${renderRuleSpec(rule, family)}`))
}
