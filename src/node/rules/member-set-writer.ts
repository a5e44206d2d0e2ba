import type { Run } from '../../host/index.ts'
import { TimeSlice } from '../../loop/time-slice.ts'
import type { IpFamily } from '../../model/ip.ts'
import {
  type HeldMemberSet,
  type MemberEntry,
  MemberSetParser,
  parseMemberCounts,
  parseMemberEntries,
  type SetHeader,
} from '../../netfilter/member-sets.ts'
import type { Logger } from '../../observe/logger.ts'
import { listSetHeaders, type SetSocket, writeElements } from './element-socket.ts'
import { explainSaveFailure, explainSetFailure, RulesError } from './errors.ts'
import type { SetDrift, WantedSets } from './wanted-sets.ts'

const timeoutMs = 30_000

/** The changes of ipsets by one write; members of new sets are counted too. */
export interface SetReport {
  readonly added: number
  readonly removed: number
  /** How often sets were written, by `ipset restore` or the socket. */
  readonly restores: number
}

export const noSets: SetReport = { added: 0, removed: 0, restores: 0 }

export interface MemberSetParts {
  readonly family: IpFamily
  readonly run: Run
  /** In the network namespace in which `run` starts programs; without it programs write and list everything. */
  readonly socket?: SetSocket | undefined
  readonly wanted: WantedSets
  readonly log: Logger
}

/**
 * Makes the kernel's sets hold the members that are wanted. After a failure, which may have been carried out in part, the kernel is
 * read before the next write. The caller runs one method at a time, `read` apart.
 */
export class MemberSetWriter {
  readonly #parts: MemberSetParts
  #isKernelKnown = false
  readonly #keptByOthers = new Set<string>()

  constructor(parts: MemberSetParts) {
    this.#parts = parts
  }

  /** Reads the kernel's sets unless they are known. Throws RulesError. */
  async learn(): Promise<void> {
    const { wanted } = this.#parts
    if (this.#isKernelKnown || !wanted.isUsed) return
    wanted.beginRead()
    await wanted.compare(await this.read())
    this.#isKernelKnown = true
  }

  /** Reads the kernel again; returns whether sets differ from what they were known to be. Throws RulesError. */
  async relearn(): Promise<boolean> {
    const { wanted } = this.#parts
    if (!wanted.isUsed) return false
    wanted.beginRead()
    const drift = await wanted.compare(await this.read())
    this.#isKernelKnown = true
    return drift.some(({ problem }) => problem !== 'unwanted')
  }

  /**
   * Makes sets and adds members; `isAlone`: no rules follow, so members also go. Where the kernel refuses that, as others have changed
   * sets, they are read and written once more. Throws RulesError.
   */
  async writeBefore(way: { readonly isAlone: boolean }): Promise<SetReport> {
    await this.learn()
    try {
      return await this.#writeOnce(way)
    } catch (error) {
      if (!(error instanceof RulesError) || !/^set-/.test(error.code)) throw error
      await this.learn()
      return this.#writeOnce(way)
    }
  }

  async #writeOnce({ isAlone }: { readonly isAlone: boolean }): Promise<SetReport> {
    const { wanted } = this.#parts
    const { before, after } = wanted.write()
    const report = await this.#restore(isAlone ? [...before, ...after] : before)
    wanted.confirmBefore()
    if (isAlone) wanted.confirmAfter()
    return report
  }

  /** Removes the members that no rule needs any more. Throws RulesError. */
  async writeAfter(): Promise<SetReport> {
    const { wanted } = this.#parts
    const report = await this.#restore(wanted.write().after)
    wanted.confirmAfter()
    return report
  }

  /**
   * Removes sets that should go, and returns whether some remain: the kernel lets go of a set only some milliseconds after the last
   * rule that named it. Throws RulesError.
   */
  async removeLeftovers(): Promise<boolean> {
    const { wanted } = this.#parts
    let names = this.#isKernelKnown ? wanted.leftovers : []
    while (names.length > 0) {
      const refused = await this.#destroy(names)
      for (const name of names.slice(0, refused)) wanted.confirmDestroyed(name)
      names = names.slice(refused + 1)
    }
    return wanted.leftovers.length > 0
  }

  /** Logs each set that rules of others keep from going, once. */
  warnOfLeftovers(): void {
    for (const name of this.#parts.wanted.leftovers) {
      if (this.#keptByOthers.has(name)) continue
      this.#keptByOthers.add(name)
      this.#parts.log.warn('a set that is not wanted stays: rules of others name it', { set: name })
    }
  }

  /** All sets of ours, of both families. Throws RulesError. */
  async read(): Promise<ReadonlyMap<string, HeldMemberSet>> {
    const stdout = await this.#read(['save'])
    const parser = new MemberSetParser()
    const slice = new TimeSlice()
    for (const line of stdout.split('\n')) {
      parser.readLine(line)
      if (slice.spent) await slice.pause()
    }
    return parser.sets
  }

  /** Compares names, forms and numbers of members, which takes the same time however many there are. Throws RulesError. */
  async isAsExpected(): Promise<boolean> {
    return !this.#isKernelKnown || this.#parts.wanted.countsMatch(await this.#listHeaders())
  }

  /** Takes what `read` returned while writes went on. */
  compare(held: ReadonlyMap<string, HeldMemberSet>): Promise<readonly SetDrift[]> {
    return this.#isKernelKnown ? this.#parts.wanted.compare(held) : Promise.resolve([])
  }

  /** Returns how many sets went before one that is in use. */
  async #destroy(names: readonly string[]): Promise<number> {
    try {
      await this.#run(names.map((name) => `destroy ${name}`))
      return names.length
    } catch (error) {
      if (!(error instanceof RulesError) || error.code !== 'set-in-use' || error.line === undefined) throw error
      return error.line.number - 1
    }
  }

  async #restore(lines: readonly string[]): Promise<SetReport> {
    if (lines.length === 0) return noSets
    try {
      await this.#run(lines)
    } catch (error) {
      this.#isKernelKnown = false
      throw error
    }
    const count = (verb: string) => lines.reduce((sum, line) => sum + (line.startsWith(verb) ? 1 : 0), 0)
    return { added: count('add '), removed: count('del '), restores: 1 }
  }

  async #run(lines: readonly string[]): Promise<void> {
    const { run, socket, log } = this.#parts
    const input = lines.map((line) => `${line}\n`).join('')
    if (log.enabled('trace')) log.trace('ipset restore', { text: input })
    // A program may write the lines again from the first one, and explains what is refused.
    if (writeElements(socket, lines)) return
    try {
      await run('ipset', ['restore', '-exist'], { timeoutMs, input })
    } catch (thrown) {
      throw explainSetFailure(thrown, lines)
    }
  }

  /** The socket lists within the system call; the program costs the time of a start. */
  async #listHeaders(): Promise<ReadonlyMap<string, SetHeader>> {
    const { socket } = this.#parts
    const listed = socket && (await listSetHeaders(socket))
    return listed ?? parseMemberCounts(await this.#read(['list', '-terse']))
  }

  async #read(args: readonly string[]): Promise<string> {
    try {
      return (await this.#parts.run('ipset', args, { timeoutMs })).stdout
    } catch (thrown) {
      throw explainSaveFailure(thrown)
    }
  }
}

/** The members of a set, with what they counted; none where there is no such set. Throws RulesError. */
export async function readMembers(run: Run, set: string): Promise<readonly MemberEntry[]> {
  try {
    return parseMemberEntries((await run('ipset', ['save', set], { timeoutMs })).stdout)
  } catch (thrown) {
    const error = explainSaveFailure(thrown)
    if (error instanceof RulesError && error.code === 'save-failed') return []
    throw error
  }
}
