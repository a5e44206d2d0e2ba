/** Work that has paused, the longest first. One goes on in a turn of the event loop: many at once would make one long turn of their slices. */
const paused: (() => void)[] = []

function resumeOne(): void {
  paused.shift()?.()
  if (paused.length > 0) setImmediate(resumeOne)
}

/** Resolves in a turn of the event loop in which no other work that waits here goes on. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    paused.push(resolve)
    if (paused.length === 1) setImmediate(resumeOne)
  })
}

/** Splits long work into slices: between them timers and sockets get their turn, and others that work in slices. */
export class TimeSlice {
  readonly #budgetMs: number
  #startedMs = performance.now()

  constructor(budgetMs = 3) {
    this.#budgetMs = budgetMs
  }

  /** True when the slice has used its budget and `pause` is due; cheap enough to ask after every item. */
  get spent(): boolean {
    return performance.now() - this.#startedMs >= this.#budgetMs
  }

  /** A pause where the slice is spent, for `await` between two stages of work; otherwise nothing to wait for. */
  whenSpent(): Promise<void> | undefined {
    return this.spent ? this.pause() : undefined
  }

  /** Gives the event loop a turn, or as many as others wait for theirs, and starts the next slice. */
  async pause(): Promise<void> {
    await nextTurn()
    this.#startedMs = performance.now()
  }
}

/** Work that may pause wherever it yields. */
export type Stages<Result> = Generator<undefined, Result>

/** Does the stages in slices. */
export async function inSlices<Result>(stages: Stages<Result>, slice: TimeSlice): Promise<Result> {
  for (let step = stages.next(); ; step = stages.next()) {
    if (step.done === true) return step.value
    if (slice.spent) await slice.pause()
  }
}

/** Does the stages without a pause. */
export function inOnePiece<Result>(stages: Stages<Result>): Result {
  let step = stages.next()
  while (step.done !== true) step = stages.next()
  return step.value
}
