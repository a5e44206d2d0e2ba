/** Queue of paused work, the longest wait first. Each turn of the event loop resumes one: several would make one long turn. */
const paused: (() => void)[] = []

function resumeOne(): void {
  paused.shift()?.()
  if (paused.length > 0) setImmediate(resumeOne)
}

/** Resolves in a turn of the event loop that resumes no other paused work. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    paused.push(resolve)
    if (paused.length === 1) setImmediate(resumeOne)
  })
}

/** Splits long work into slices; between them the event loop serves timers, sockets and other sliced work. */
export class TimeSlice {
  readonly #budgetMs: number
  #startedMs = performance.now()

  constructor(budgetMs = 3) {
    this.#budgetMs = budgetMs
  }

  /** True when the slice has used its budget and `pause` is due; cheap enough to check after every item. */
  get spent(): boolean {
    return performance.now() - this.#startedMs >= this.#budgetMs
  }

  /** Returns a pause to await if the slice is spent, for use between two stages of work; undefined otherwise. */
  whenSpent(): Promise<void> | undefined {
    return this.spent ? this.pause() : undefined
  }

  /** Yields to the event loop, once or as often as other sliced work waits, and starts the next slice. */
  async pause(): Promise<void> {
    await nextTurn()
    this.#startedMs = performance.now()
  }
}

/** Work in stages that may pause at each yield. */
export type Stages<Result> = Generator<undefined, Result>

/** Runs the stages in slices. */
export async function inSlices<Result>(stages: Stages<Result>, slice: TimeSlice): Promise<Result> {
  for (let step = stages.next(); ; step = stages.next()) {
    if (step.done === true) return step.value
    if (slice.spent) await slice.pause()
  }
}

/** Runs the stages without a pause. */
export function inOnePiece<Result>(stages: Stages<Result>): Result {
  let step = stages.next()
  while (step.done !== true) step = stages.next()
  return step.value
}
