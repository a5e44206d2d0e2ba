import type { NftCommit, NftListener, NftSession } from '../../../host/index.ts'
import { describeError } from '../../../model/errors.ts'
import type { NftTable, SetSpec } from '../../../netfilter/nft/types.ts'
import type { Logger } from '../../../observe/logger.ts'
import type { NftWriter } from './writer.ts'

export interface ElementDriftWatchParts {
  /** The wanted table; a live view. */
  readonly wanted: { readonly table: NftTable }
  readonly writer: Pick<NftWriter, 'verify'>
  readonly session: Pick<NftSession, 'isOwn'>
  readonly log: Logger
}

const gatherMs = 100
/** Delay after a failure; the monitor does not repeat a report. */
const retryMs = 2_000
/** More than this is read as a whole. */
const maxCommits = 1_000

/** Has the writer look at what others changed in our table, as the kernel tells: the sets concerned, or everything where more than elements changed. */
export class ElementDriftWatch implements NftListener {
  readonly #parts: ElementDriftWatchParts
  readonly #commits: NftCommit[] = []
  readonly #sets = new Map<string, SetSpec>()
  #needsAll = false
  #timer: NodeJS.Timeout | undefined

  constructor(parts: ElementDriftWatchParts) {
    this.#parts = parts
  }

  /** A commit of the writer may be reported before the program that made it has ended: it is recognised when it is looked at. */
  onCommit(commit: NftCommit): void {
    const { family, name } = this.#parts.wanted.table
    if (commit.family !== family || !commit.changes.some(({ table }) => table === name)) return
    if (this.#parts.session.isOwn(commit)) return
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

  #note({ changes }: NftCommit): void {
    const { name, sets } = this.#parts.wanted.table
    for (const { table, set } of changes) {
      if (table !== name || (set !== undefined && isFilledByPackets(set))) continue
      const spec = sets.find((each) => each.name === set)
      if (spec === undefined) this.#needsAll = true
      else this.#sets.set(spec.name, spec)
    }
  }

  async #lookNow(): Promise<void> {
    const { session, writer, log } = this.#parts
    for (const commit of this.#commits.splice(0)) if (!session.isOwn(commit)) this.#note(commit)
    const [sets, needsAll] = [[...this.#sets.values()], this.#needsAll]
    this.#sets.clear()
    this.#needsAll = false
    let nextMs = gatherMs
    try {
      if (needsAll) await writer.verify()
      else if (sets.length > 0) await writer.verify(sets)
    } catch (error) {
      log.warn('elements that changed in the kernel could not be compared or repaired; tried again', {
        error: describeError(error),
      })
      for (const spec of sets) this.#sets.set(spec.name, spec)
      this.#needsAll ||= needsAll
      nextMs = retryMs
    } finally {
      this.#timer = undefined
      if (this.#commits.length > 0 || this.#sets.size > 0 || this.#needsAll) this.#look(nextMs)
    }
  }
}

function isFilledByPackets(set: string): boolean {
  return set === 'clients' || set === 'port-clients'
}
