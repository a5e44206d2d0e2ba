import { setTimeout as sleep } from 'node:timers/promises'
import type { BackgroundOptions, RunningProgram } from '../programs/index.ts'
import { inOneLine } from './element-commands.ts'
import { NftError } from './nft-error.ts'
import type { QuickWriter } from './quick-writer.ts'

export type StartProgram = (
  file: string,
  args: readonly string[],
  options: BackgroundOptions,
) => Promise<RunningProgram>

const answerMs = 30_000
/** One that has to show first that it answers in this way. */
const firstAnswerMs = 5_000
/** The program keeps every line it was given. */
const maxCommands = 2_000

/**
 * One `nft -i` that stays. It takes each line as a transaction and prints errors only, so a line that it cannot read follows each
 * transaction: the error about that line says that the transaction is done.
 */
export class InteractiveNft implements QuickWriter {
  readonly kind = 'interactive'
  readonly maxLength = 65_536
  readonly #start: StartProgram
  #program: RunningProgram | undefined
  #printed = ''
  #commands = 0
  #answerMs = firstAnswerMs
  #wake = () => {}

  /** Returns undefined where the program cannot be started or does not answer. */
  static async open(start: StartProgram): Promise<InteractiveNft | undefined> {
    const made = new InteractiveNft(start)
    const failure = await made.attempt('delete element ip platnet-none none { 1 }\n').catch(() => undefined)
    made.#answerMs = answerMs
    if (failure !== undefined && /Error: /.test(failure)) return made
    await made.close()
    return undefined
  }

  private constructor(start: StartProgram) {
    this.#start = start
  }

  /** A program's first socket gets its pid as port. */
  get portId(): number | undefined {
    return this.#program?.pid
  }

  async attempt(commands: string): Promise<string | undefined> {
    if (this.#commands >= maxCommands) await this.close()
    const program = this.#program ?? (await this.#begin())
    this.#commands += 1
    const marker = `platnet-end-${this.#commands}`
    program.stdin?.write(`${inOneLine(commands)}\n${marker}\n`)
    const said = await this.#waitFor(marker)
    return said === '' ? undefined : said
  }

  async close(): Promise<void> {
    const program = this.#program
    this.#program = undefined
    program?.kill('SIGKILL')
    await program?.exited
  }

  async #begin(): Promise<RunningProgram> {
    const options = { background: true, stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' } as const
    // It would keep a history of commands in a file.
    const program = await this.#start('nft', ['-i'], { ...options, env: { HOME: '/nonexistent', LC_ALL: 'C' } })
    this.#program = program
    this.#printed = ''
    this.#commands = 0
    program.stdin?.on('error', () => {})
    program.stdout?.resume()
    program.stderr?.on('data', (chunk: Buffer) => {
      // What an earlier program printed comes late sometimes, and must not count as an answer of this one.
      if (this.#program !== program) return
      this.#printed += chunk.toString()
      this.#wake()
    })
    void program.exited.then(() => {
      if (this.#program === program) this.#program = undefined
      this.#wake()
    })
    return program
  }

  /** Returns what was printed before the error about the marker, which is three lines: what, the line, and where. */
  async #waitFor(marker: string): Promise<string> {
    const deadline = AbortSignal.timeout(this.#answerMs)
    const end = new RegExp(`^(?:.*\\bError: .*\\n)${marker}\\n.*\\n`, 'm')
    for (;;) {
      const found = end.exec(this.#printed)
      if (found !== null) {
        const said = this.#printed.slice(0, found.index)
        this.#printed = this.#printed.slice(found.index + found[0].length)
        return said
      }
      if (this.#program === undefined || deadline.aborted) return this.#giveUp(deadline.aborted)
      await this.#nextOutput(deadline)
    }
  }

  async #nextOutput(deadline: AbortSignal): Promise<void> {
    const output = new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    await Promise.race([output, sleep(this.#answerMs, undefined, { signal: deadline, ref: false }).catch(() => {})])
  }

  async #giveUp(isLate: boolean): Promise<never> {
    await this.close()
    throw new NftError('uncertain', isLate ? `nft -i gave no answer within ${this.#answerMs} ms` : 'nft -i ended')
  }
}
