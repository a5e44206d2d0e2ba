import { TimeSlice } from '../../loop/time-slice.ts'
import type { ObjectKey } from '../../model/api-object.ts'
import { addHash, hashItem, type XorHash } from '../../model/xor-hash.ts'
import type { WriteReport } from '../rules/index.ts'

import type { LoweredByService, RefusalIsolation } from './refusal-isolation.ts'
import type { ServiceForm } from './service-form.ts'
import type { PlannedService, ProxySettings } from './service-plans.ts'
import type { Refusal, SetAside } from './set-aside.ts'
import { chooseNext, fairOrder, type NextWrite, type WaitingWrite } from './write-order.ts'

export interface WriteQueueParts<Lowered> {
  readonly isolation: RefusalIsolation<Lowered>
  readonly form: ServiceForm<Lowered>
  /** Returns what is wanted of a Service. */
  readonly planOf: (service: ObjectKey) => PlannedService | undefined
  readonly setAside: Pick<SetAside, 'has' | 'size'>
}

interface Waiting<Lowered> extends WaitingWrite {
  readonly plan: PlannedService | undefined
  /** Undefined: none. */
  readonly target: Lowered | undefined
  steps: Generator<Lowered, void> | undefined
}

export interface QueueResult {
  readonly report: WriteReport
  /** Their rules are in the kernel whole. */
  readonly finished: readonly ObjectKey[]
  readonly refused: readonly Refusal[]
  /** Set aside before, and written now. */
  readonly returned: readonly ObjectKey[]
  /** The Service of which a part is in the kernel, and more is to be written. */
  readonly begun: ObjectKey | undefined
}

/** The writes of one family that wait, whatever their form. */
export interface ServiceQueue {
  readonly size: number
  configure(settings: ProxySettings): void
  services(): ReadonlySet<ObjectKey>
  add(services: Iterable<ObjectKey>): Promise<void>
  drop(service: ObjectKey): void
  /** Whether the kernel has taken anything of a Service. */
  holds(service: ObjectKey): boolean
  writeAll(objects: XorHash, mayLeaveLarge: boolean): Promise<QueueResult>
  writeNext(objects: XorHash): Promise<QueueResult>
}

/** How many lines one write carries: as many as the kernel takes in about `writeMs`, by what the writes before took. */
const linesPerWrite = { first: 8_000, least: 1_000, most: 16_000 } as const
const writeMs = 250

/** How many past writes show what a write takes at least: iptables-legacy copies the whole table each time. */
const rememberedWrites = 8
/** Times as much may a turn take, so that most of it is not spent on that. */
const worthwhile = 3

/** Stands in PLAT-STATE beside the hash of the objects while not all of their rules are written. */
const unwritten = hashItem('unwritten', '')

/**
 * Cuts what is to be written into turns, so that a Service with many rules, or many Services, keep no other one waiting for longer than
 * a turn takes. A Service larger than a turn is written in several, and packets never meet half of a change (`stepsBetween`).
 */
export class WriteQueue<Lowered> implements ServiceQueue {
  readonly #parts: WriteQueueParts<Lowered>
  readonly #waiting = new Map<ObjectKey, Waiting<Lowered>>()
  /** Services of which nothing is to be written, most often as their addresses are of the other family: the next write finishes them. */
  readonly #absent = new Set<ObjectKey>()
  #order: readonly Waiting<Lowered>[] | undefined
  #maxLines: number = linesPerWrite.first
  #lastTookMs: readonly number[] = []
  /** The size of the next step of a large Service. */
  #partLines: number = linesPerWrite.first

  constructor(parts: WriteQueueParts<Lowered>) {
    this.#parts = parts
  }

  /** Everything is to be planned and added anew after this. */
  configure(settings: ProxySettings): void {
    this.#parts.isolation.configure(settings)
  }

  get size(): number {
    return this.#waiting.size
  }

  /** A copy: what waits now. */
  services(): ReadonlySet<ObjectKey> {
    return new Set(this.#waiting.keys())
  }

  /** These differ from what the kernel has, or may. What stands in the kernel already of a Service that is being written stays. */
  async add(services: Iterable<ObjectKey>): Promise<void> {
    const { planOf, form } = this.#parts
    const slice = new TimeSlice()
    const nowMs = Date.now()
    for (const service of services) {
      const plan = planOf(service)
      const known = this.#waiting.get(service)
      this.#absent.delete(service)
      if (plan === undefined && known === undefined && this.#isWithout(service)) this.#absent.add(service)
      else if (known === undefined || known.plan !== plan) {
        const target = plan && form.lower(plan.frontends, plan.settings)
        const lines = form.countLines(this.#takenOf(service), target)
        this.#waiting.set(service, { service, plan, target, lines, sinceMs: known?.sinceMs ?? nowMs, steps: undefined })
        this.#order = undefined
      }
      if (slice.spent) await slice.pause()
    }
  }

  /** A Service that is set aside is written in any case: then it is that no longer. */
  #isWithout(service: ObjectKey): boolean {
    return this.#parts.isolation.isWithout(service) && !this.#parts.setAside.has(service)
  }

  holds(service: ObjectKey): boolean {
    return this.#takenOf(service) !== undefined
  }

  drop(service: ObjectKey): void {
    this.#absent.delete(service)
    if (this.#waiting.delete(service)) this.#order = undefined
  }

  /**
   * The first write, of the whole ruleset. Where no packet meets rules of ours yet (`mayLeaveLarge`), Services larger than a turn follow in turns, and the
   * others are served meanwhile. Throws what the writer threw.
   */
  writeAll(objects: XorHash, mayLeaveLarge: boolean): Promise<QueueResult> {
    const all = [...this.#waiting.values()]
    const whole = mayLeaveLarge ? all.filter(({ lines }) => lines <= this.#maxLines) : all
    return this.#write({ whole, part: undefined, partLines: 0 }, objects)
  }

  /** The next write: small ones first, those that are set aside last and each alone. Throws what the writer threw; all of it waits on then. */
  writeNext(objects: XorHash): Promise<QueueResult> {
    const { setAside } = this.#parts
    this.#order ??= fairOrder(this.#waiting.values(), Date.now())
    const trusted = setAside.size === 0 ? this.#order : this.#order.filter(({ service }) => !setAside.has(service))
    return this.#write(chooseNext(trusted.length > 0 ? trusted : this.#order.slice(0, 1), this.#maxLines), objects)
  }

  async #write(next: NextWrite<Waiting<Lowered>>, objects: XorHash): Promise<QueueResult> {
    const startedMs = performance.now()
    const { wanted, finished, lines } = this.#wantedBy(next)
    const isLast = finished.length === this.#waiting.size
    const { report, refused } = await this.#parts.isolation.apply(
      wanted,
      isLast ? objects : addHash(objects, unwritten),
    )
    this.#adapt(lines, performance.now() - startedMs)
    const isRefused = new Set(refused.map(({ service }) => service))
    for (const service of [...finished, ...isRefused]) this.#waiting.delete(service)
    this.#order = this.#order?.filter(({ service }) => this.#waiting.has(service))
    const taken = finished.filter((service) => !isRefused.has(service))
    const absent = [...this.#absent]
    this.#absent.clear()
    return {
      report,
      finished: [...taken, ...absent],
      refused,
      returned: taken.filter((service) => this.#parts.setAside.has(service)),
      begun: next.part && this.#waiting.has(next.part.service) ? next.part.service : undefined,
    }
  }

  #wantedBy({ whole, part, partLines }: NextWrite<Waiting<Lowered>>): {
    readonly wanted: LoweredByService<Lowered>
    readonly finished: readonly ObjectKey[]
    readonly lines: number
  } {
    const wanted = new Map(whole.map(({ service, target }) => [service, target]))
    const finished = whole.map(({ service }) => service)
    const lines = whole.reduce((sum, write) => sum + write.lines, 0)
    if (part === undefined) return { wanted, finished, lines }
    const { service, target } = part
    this.#partLines = partLines
    part.steps ??= this.#parts.form.stepsBetween(this.#takenOf(service), target, () => this.#partLines)
    const step = part.steps.next()
    const isLast = step.done === true
    wanted.set(service, isLast ? target : step.value)
    return { wanted, finished: isLast ? [...finished, service] : finished, lines: lines + partLines }
  }

  /**
   * Adapts the size of writes to the time that the last one took, which depends on the kernel, its interface and the
   * size of its tables.
   */
  #adapt(lines: number, tookMs: number): void {
    this.#lastTookMs = [...this.#lastTookMs, tookMs].slice(-rememberedWrites)
    if (lines < this.#maxLines / 2) return
    const aimMs = Math.max(writeMs, worthwhile * Math.min(...this.#lastTookMs))
    const factor = Math.min(2, Math.max(0.5, aimMs / tookMs))
    this.#maxLines = Math.round(Math.min(linesPerWrite.most, Math.max(linesPerWrite.least, this.#maxLines * factor)))
  }

  #takenOf(service: ObjectKey): Lowered | undefined {
    return this.#parts.isolation.taken(service)
  }
}
