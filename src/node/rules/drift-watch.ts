import type { NftCommit, NftListener } from '../../host/index.ts'
import { describeError } from '../../model/errors.ts'
import type { IpFamily } from '../../model/ip.ts'
import type { Logger } from '../../observe/logger.ts'
import type { RulesWriter } from './writer.ts'

export interface DriftWatchParts {
  readonly family: IpFamily
  readonly writer: Pick<RulesWriter, 'tables' | 'verify' | 'verifyChains'>
  readonly log: Logger
}

const gatherMs = 100
/** Delay after a failure, for example while another program holds the lock; the monitor does not repeat a report. */
const retryMs = 2_000
/** More than this is read faster in one go. */
const maxChains = 200
const maxCommits = 1000

/**
 * Has the writer look at what others changed, as the kernel tells: the chains concerned where they are few, else everything.
 * What comes within 100 ms is looked at together, and again where that fails.
 */
export class DriftWatch implements NftListener {
  readonly #parts: DriftWatchParts
  #commits: NftCommit[] = []
  #needsAll = false
  #timer: NodeJS.Timeout | undefined

  constructor(parts: DriftWatchParts) {
    this.#parts = parts
  }

  onCommit(commit: NftCommit): void {
    const { family, writer } = this.#parts
    const isOurTable = (name: string) => writer.tables.some((table) => table === name)
    if (commit.family !== family || !commit.changes.some(({ table }) => isOurTable(table))) return
    if (this.#commits.length >= maxCommits) this.#needsAll = true
    else this.#commits.push(commit)
    this.#look()
  }

  onGap(): void {
    this.#needsAll = true
    this.#look()
  }

  #look(delayMs = gatherMs): void {
    this.#timer ??= setTimeout(() => void this.#lookNow(), delayMs)
    this.#timer.unref()
  }

  async #lookNow(): Promise<void> {
    const { writer, log } = this.#parts
    const commits = this.#commits
    const needsAll = this.#needsAll
    let nextMs = gatherMs
    this.#commits = []
    this.#needsAll = false
    try {
      if (needsAll || (await writer.verifyChains(commits, maxChains)) === 'too-many') {
        log.debug('everything is compared with the kernel', { why: needsAll ? 'events were missed' : 'many changes' })
        await writer.verify()
      }
    } catch (error) {
      log.warn('rules that changed in the kernel could not be compared or repaired; tried again', {
        error: describeError(error),
      })
      this.#commits.push(...commits)
      this.#needsAll ||= needsAll
      nextMs = retryMs
    } finally {
      this.#timer = undefined
      if (this.#commits.length > 0 || this.#needsAll) this.#look(nextMs)
    }
  }
}
