import { Slots } from '../../loop/slots.ts'
import type { StallReason } from '../cni/index.ts'
import { watchStalls } from './sandbox-watch.ts'

/** One pod's work on its network. */
export interface Turn {
  readonly pod: string
  /** Why the work takes long, once it has begun. */
  readonly stallReason: () => StallReason | undefined
  /** Called once with each stall reason, also while the work waits for its turn. */
  readonly tell: (stallReason: StallReason) => Promise<unknown>
}

/** Making and removing networks is heavy: only some pods at a time. Knows whose turn it is, so that the others can be told what they wait for. */
export class SandboxTurns {
  readonly #count: number
  readonly #slots: Slots
  readonly #begun = new Set<Turn>()
  #waiting = 0

  constructor(count: number) {
    this.#count = count
    this.#slots = new Slots(count)
  }

  /** How many wait. */
  get waiting(): number {
    return this.#waiting
  }

  async run(turn: Turn, work: () => Promise<void>): Promise<void> {
    await watchStalls(
      () => this.#stallReasonOf(turn),
      turn.tell,
      () => this.#inTurn(turn, work),
    )
  }

  async #inTurn(turn: Turn, work: () => Promise<void>): Promise<void> {
    this.#waiting += 1
    await this.#slots.run(async () => {
      this.#waiting -= 1
      this.#begun.add(turn)
      try {
        await work()
      } finally {
        this.#begun.delete(turn)
      }
    })
  }

  /** Of a turn that has not come: who is in the way, where plugins hang. Many pods at once wait for each other for a moment, and that is nothing to tell. */
  #stallReasonOf(turn: Turn): StallReason | undefined {
    if (this.#begun.has(turn)) return turn.stallReason()
    for (const { pod, stallReason } of this.#begun) {
      const waitsFor = stallReason()?.waitsFor
      if (waitsFor === undefined) continue
      return { waitsFor: `its turn (${this.#count} pods at a time), while ${pod} is held up: ${waitsFor}` }
    }
    return undefined
  }
}
