import type { ApiLimits } from '../limits.ts'
import type { Verb } from '../route/route.ts'
import { tooManyRequests } from '../status.ts'
import type { Aside } from '../store/wait-for-revision.ts'
import { FairShare } from './fair-share.ts'
import type { Flow } from './flow.ts'

type Kind = 'reads' | 'writes' | 'waits'

/** The maximum number of reads that wait for a resourceVersion at one time. */
const maxWaits = 200

/** Limits the requests in progress, and shares the slots among flows; watches are long-lived and have their own share. */
export class InFlight {
  readonly #shares: Readonly<Record<Kind, FairShare>>

  constructor(limits: Pick<ApiLimits, 'maxReads' | 'maxWrites'>) {
    this.#shares = {
      reads: new FairShare(() => limits.maxReads),
      writes: new FairShare(() => limits.maxWrites),
      waits: new FairShare(maxWaits),
    }
  }

  get reads(): number {
    return this.#shares.reads.used
  }

  get writes(): number {
    return this.#shares.writes.used
  }

  /**
   * Runs the work, or throws a 429 when too many requests are in progress, in total or for this flow. Work that is run aside holds no slot, and
   * throws a 429 when no slot is free after it.
   */
  async run<T>(verb: Exclude<Verb, 'watch'> | 'page', flow: Flow, work: (aside: Aside) => Promise<T>): Promise<T> {
    const isRead = verb === 'get' || verb === 'list' || verb === 'page'
    const share = this.#shares[isRead ? 'reads' : 'writes']
    if (!share.take(flow)) throw tooManyRequests()
    let isHeld = true
    const aside: Aside = async (wait) => {
      isHeld = false
      share.giveBack(flow)
      const outcome = await this.wait(flow, wait)
      if (!share.take(flow)) throw tooManyRequests()
      isHeld = true
      return outcome
    }
    try {
      return await work(aside)
    } finally {
      if (isHeld) share.giveBack(flow)
    }
  }

  /** Runs work that only waits for a request which has no slot. */
  async wait(flow: Flow, work: () => Promise<void>): ReturnType<Aside> {
    const { waits } = this.#shares
    if (!waits.take(flow)) return 'too-many'
    try {
      await work()
      return 'done'
    } finally {
      waits.giveBack(flow)
    }
  }
}
