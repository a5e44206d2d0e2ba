import type { NftCommit, NftListener } from '../../host/index.ts'
import { Backoff } from '../../loop/backoff.ts'
import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/logger.ts'

export interface CommitGathererParts {
  /** Asked as a commit arrives. */
  readonly concerns: (commit: NftCommit) => boolean
  /** Asked when the commits are looked at: a commit may be reported before the program that made it has ended. */
  readonly isOwn?: (commit: NftCommit) => boolean
  /** Compares what the commits changed with what is wanted, or everything. Repeated after a failure, with what came meanwhile. */
  readonly look: (commits: readonly NftCommit[], needsAll: boolean) => Promise<void>
  readonly log: Logger
  /** Logged with the error of a failure. */
  readonly failure: string
}

const gatherMs = 100
/** Delays after failures, for example while another program holds the lock; the monitor does not repeat a report. A first one is often a repair in which a change of others fell. */
const retry = { baseMs: 100, factor: 4, maxMs: 2_000, jitter: 0 } as const
/** After more than this everything is compared. */
const maxCommits = 1_000

/** Gathers the commits of others as the kernel reports them and has those of 100 ms looked at together, again after 0.1 to 2 s where that fails. */
export class CommitGatherer implements NftListener {
  readonly #parts: CommitGathererParts
  #commits: NftCommit[] = []
  #needsAll = false
  #timer: NodeJS.Timeout | undefined
  readonly #backoff = new Backoff(retry)

  constructor(parts: CommitGathererParts) {
    this.#parts = parts
  }

  onCommit(commit: NftCommit): void {
    const { concerns, isOwn } = this.#parts
    if (!concerns(commit) || isOwn?.(commit)) return
    if (this.#commits.length >= maxCommits) this.#needsAll = true
    else this.#commits.push(commit)
    this.#schedule()
  }

  /** The monitor missed events: everything is compared. */
  onGap(): void {
    this.#needsAll = true
    this.#schedule()
  }

  #schedule(delayMs = gatherMs): void {
    this.#timer ??= setTimeout(() => void this.#lookNow(), delayMs)
    this.#timer.unref()
  }

  async #lookNow(): Promise<void> {
    const { isOwn, look, log, failure } = this.#parts
    const commits = this.#commits.filter((commit) => !isOwn?.(commit))
    const needsAll = this.#needsAll
    let nextMs = gatherMs
    this.#commits = []
    this.#needsAll = false
    try {
      if (needsAll || commits.length > 0) await look(commits, needsAll)
      this.#backoff.reset()
    } catch (error) {
      log.warn(failure, { error: describeError(error) })
      this.#commits.push(...commits)
      this.#needsAll ||= needsAll
      nextMs = this.#backoff.nextDelayMs()
    } finally {
      this.#timer = undefined
      if (this.#commits.length > 0 || this.#needsAll) this.#schedule(nextMs)
    }
  }
}
