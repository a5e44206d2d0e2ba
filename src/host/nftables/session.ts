import type { NftCommit } from '../nft-monitor.ts'
import type { Run } from '../programs/index.ts'
import { checkElementCommands, inShortLines } from './element-commands.ts'
import { InteractiveNft, type StartProgram } from './interactive.ts'
import { NftLibrary } from './library.ts'
import { judgeFailure, NftError } from './nft-error.ts'
import { PortIds } from './port-ids.ts'
import type { QuickWriter } from './quick-writer.ts'
import { runNft } from './started-nft.ts'

export type NftSessionKind = QuickWriter['kind'] | 'program'

export interface NftSessionOptions {
  /** Runs a program to its end in the namespace of the tables: `runProgram` or a variant of it. */
  readonly run: Run
  /** Starts a program that stays, in the same namespace. */
  readonly start: StartProgram
  /** Ways that may be used, of which the first that works is; all unless given. The library works in this process' own namespace only. */
  readonly kinds?: readonly NftSessionKind[]
}

/** The way to change tables of nftables. Calls wait for each other. */
export interface NftSession {
  /** The way for commands of a usual size. */
  readonly kind: NftSessionKind
  /**
   * Runs commands that add or delete elements, or empty sets, as one transaction. With the library the thread waits for it: some
   * hundred elements take a millisecond or two.
   *
   * @throws NftError
   */
  run(commands: string): Promise<void>
  /**
   * Runs any text as one transaction by a started nft, as the library may abort the process on rules that it does not know.
   *
   * @throws NftError
   */
  applyRuleset(text: string): Promise<void>
  /** Whether this session made a commit that the monitor reports; to be asked when no call is in progress. */
  isOwn(commit: Pick<NftCommit, 'portId'>): boolean
  close(): Promise<void>
}

/** So many failures that a started nft does not confirm: then the quick way is not used any more. */
const maxContradictions = 3

/**
 * Opens a session by the first of: the library in this process, a program that stays, a program for each transaction.
 *
 * @throws NftError with the code `unavailable` where none works
 */
export async function openNftSession(options: NftSessionOptions): Promise<NftSession> {
  const { run, start, kinds = ['library', 'interactive', 'program'] } = options
  const quick =
    (kinds.includes('library') ? NftLibrary.open() : undefined) ??
    (kinds.includes('interactive') ? await InteractiveNft.open(start) : undefined)
  if (quick === undefined) await checkProgram(run)
  return new Session(run, quick)
}

async function checkProgram(run: Run): Promise<void> {
  try {
    await runNft(run, 'list tables\n')
  } catch (thrown) {
    throw thrown instanceof NftError && thrown.code !== 'unavailable'
      ? new NftError('unavailable', thrown.reason, { cause: thrown })
      : thrown
  }
}

class Session implements NftSession {
  readonly #run: Run
  readonly #own = new PortIds()
  #quick: QuickWriter | undefined
  #contradictions = 0
  #last: Promise<unknown> = Promise.resolve()

  constructor(run: Run, quick: QuickWriter | undefined) {
    this.#run = run
    this.#quick = quick
  }

  get kind(): NftSessionKind {
    return this.#quick?.kind ?? 'program'
  }

  async run(commands: string): Promise<void> {
    checkElementCommands(commands)
    return this.#inTurn(() => this.#runElements(commands))
  }

  applyRuleset(text: string): Promise<void> {
    return this.#inTurn(() => this.#runProgram(inShortLines(text)))
  }

  isOwn({ portId }: Pick<NftCommit, 'portId'>): boolean {
    return portId !== undefined && (portId === this.#quick?.portId || this.#own.has(portId))
  }

  close(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#quick?.close()
      this.#quick = undefined
    })
  }

  #inTurn<Result>(job: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(job)
    this.#last = turn.catch(() => {})
    return turn
  }

  async #runElements(commands: string): Promise<void> {
    const quick = this.#quick
    if (quick === undefined || commands.length > quick.maxLength) return this.#runProgram(inShortLines(commands))
    const problem = await this.#attempt(quick, commands)
    if (problem === undefined) {
      this.#contradictions = 0
      return
    }
    if (judgeFailure(problem) === 'uncertain') throw new NftError('uncertain', problem.slice(0, 300).trim())
    // Nothing of it stands. A started nft says which element it is about, or does it after all.
    await this.#runProgram(inShortLines(commands))
    this.#contradictions += 1
    if (this.#contradictions < maxContradictions) return
    await quick.close()
    this.#quick = undefined
  }

  async #attempt(quick: QuickWriter, commands: string): Promise<string | undefined> {
    const problem = await quick.attempt(commands)
    // The interactive program may be a new one each time.
    if (quick.portId !== undefined) this.#own.add(quick.portId)
    return problem
  }

  async #runProgram(text: string): Promise<void> {
    const pid = await runNft(this.#run, text)
    if (pid !== undefined) this.#own.add(pid)
  }
}
