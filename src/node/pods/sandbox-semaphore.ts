import { Slots } from '../../loop/slots.ts'
import type { StallReason } from '../cni/index.ts'
import { watchStalls } from './watch-stalls.ts'

/** The creation or the removal of one pod's sandbox. */
export interface SandboxJob {
  /** `namespace/name` of the pod. */
  readonly pod: string
  /** Returns why the job takes long; asked only after it has started. */
  readonly stallReason: () => StallReason | undefined
  /** Called once with each stall reason, also while the job waits for a slot. */
  readonly onStall: (stallReason: StallReason) => Promise<unknown>
}

/** Limits how many pods create or remove their sandbox at the same time, because that is heavy. The others wait in order of arrival. */
export class SandboxSemaphore {
  readonly #count: number
  readonly #slots: Slots
  readonly #running = new Set<SandboxJob>()
  #waiting = 0

  /** `count` is the number of jobs that run at the same time. */
  constructor(count: number) {
    this.#count = count
    this.#slots = new Slots(count)
  }

  /** The number of jobs that wait for a slot. */
  get waiting(): number {
    return this.#waiting
  }

  /** Runs `work` when a slot is free. */
  async run(job: SandboxJob, work: () => Promise<void>): Promise<void> {
    await watchStalls(
      () => this.#stallReasonOf(job),
      job.onStall,
      () => this.#runInSlot(job, work),
    )
  }

  async #runInSlot(job: SandboxJob, work: () => Promise<void>): Promise<void> {
    this.#waiting += 1
    await this.#slots.run(async () => {
      this.#waiting -= 1
      this.#running.add(job)
      try {
        await work()
      } finally {
        this.#running.delete(job)
      }
    })
  }

  /** Returns for a waiting job the first running job that a slow plugin delays. A short wait without a slow plugin is normal and has no reason. */
  #stallReasonOf(job: SandboxJob): StallReason | undefined {
    if (this.#running.has(job)) return job.stallReason()
    for (const { pod, stallReason } of this.#running) {
      const waitsFor = stallReason()?.waitsFor
      if (waitsFor === undefined) continue
      return { waitsFor: `waiting for a slot (${this.#count} pods at a time); ${pod} is delayed: ${waitsFor}` }
    }
    return undefined
  }
}
