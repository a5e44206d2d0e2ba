import { TimeSlice } from '../../loop/time-slice.ts'
import type { ObjectKey } from '../../model/api-object.ts'
import { describeError } from '../../model/errors.ts'
import type { XorHash } from '../../model/xor-hash.ts'
import { type FailedLine, RulesError, type WriteReport } from '../rules/index.ts'
import type { ServiceForm, ServiceTable } from './service-form.ts'
import type { ProxySettings } from './service-plans.ts'
import type { Refusal } from './set-aside.ts'

/** The wanted content of the kernel for each Service; undefined for none. */
export type LoweredByService<Lowered> = ReadonlyMap<ObjectKey, Lowered | undefined>

export interface RefusalIsolationParts<Lowered> {
  readonly form: Pick<ServiceForm<Lowered>, 'isLineOf'>
  readonly table: ServiceTable<Lowered>
}

/**
 * Writes the rules of Services so that one which the kernel refuses never delays the others: it is found by the line that the
 * kernel names or by halving, gets back the rules it had, and everything else is written.
 */
export class RefusalIsolation<Lowered> {
  readonly #parts: RefusalIsolationParts<Lowered>
  /** The rules that the kernel took last of each Service whose newer rules it has not taken yet. */
  readonly #takenBefore = new Map<ObjectKey, Lowered | undefined>()

  constructor(parts: RefusalIsolationParts<Lowered>) {
    this.#parts = parts
  }

  configure(settings: ProxySettings): void {
    this.#parts.table.configure(settings)
  }

  /** The rules of a Service that the kernel took last. */
  taken(service: ObjectKey): Lowered | undefined {
    const isInFlight = this.#takenBefore.has(service)
    return isInFlight ? this.#takenBefore.get(service) : this.#parts.table.get(service)
  }

  /** Whether nothing is wanted of a Service, and the kernel has nothing of it either. */
  isWithout(service: ObjectKey): boolean {
    return !this.#takenBefore.has(service) && this.#parts.table.get(service) === undefined
  }

  /**
   * Returns what was refused. Throws what the writer threw where no single Service causes the failure; everything then goes out
   * with the next call, whatever that carries.
   */
  async apply(
    wanted: LoweredByService<Lowered>,
    objects: XorHash,
  ): Promise<{ report: WriteReport; refused: readonly Refusal[] }> {
    await this.#updateInTimeSlices(wanted)
    try {
      return { report: await this.#send(objects), refused: [] }
    } catch (error) {
      if (!isRefusal(error)) throw error
      return this.#isolate(wanted, objects, error)
    }
  }

  /** An update of 10,000 Services at once would block the main loop for a tenth of a second. */
  async #updateInTimeSlices(rules: LoweredByService<Lowered>): Promise<void> {
    this.#rememberTaken(rules)
    const slice = new TimeSlice()
    for (const _ of this.#parts.table.updateInSteps(rules)) if (slice.spent) await slice.pause()
  }

  #update(rules: LoweredByService<Lowered>): void {
    this.#rememberTaken(rules)
    for (const _ of this.#parts.table.updateInSteps(rules));
  }

  #rememberTaken(rules: LoweredByService<Lowered>): void {
    for (const service of rules.keys()) {
      if (!this.#takenBefore.has(service)) this.#takenBefore.set(service, this.#parts.table.get(service))
    }
  }

  /** The writer keeps what it was given until the kernel has it, also when this call fails. After a success the kernel has everything. */
  async #send(objects: XorHash): Promise<WriteReport> {
    const report = await this.#parts.table.write(objects)
    this.#takenBefore.clear()
    return report
  }

  async #isolate(wanted: LoweredByService<Lowered>, objects: XorHash, error: RulesError) {
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
  async #try(
    changes: LoweredByService<Lowered>,
    objects: XorHash,
  ): Promise<{ report: WriteReport } | { failure: RulesError }> {
    try {
      this.#update(changes)
      return { report: await this.#send(objects) }
    } catch (error) {
      if (isRefusal(error)) return { failure: error }
      throw error
    }
  }

  async #halve(services: readonly (readonly [ObjectKey, Lowered | undefined])[], objects: XorHash) {
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

  #findCulprit(wanted: LoweredByService<Lowered>, line: FailedLine | undefined): ObjectKey | undefined {
    if (line === undefined) return undefined
    const { form } = this.#parts
    for (const [service, rules] of wanted) if (rules !== undefined && form.isLineOf(line, rules)) return service
    return undefined
  }

  #takenOf(services: Iterable<ObjectKey>): LoweredByService<Lowered> {
    return new Map(Array.from(services, (service) => [service, this.taken(service)]))
  }
}

/** The kernel refused the rules; no Service causes any other failure (the lock, a killed program, no program). */
function isRefusal(error: unknown): error is RulesError {
  return error instanceof RulesError && error.code === 'restore-failed'
}
