import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { stripVTControlCharacters } from 'node:util'
import { until } from './until.ts'

/** A program on a terminal of its own, by script(1) of util-linux. */
export class Terminal implements AsyncDisposable {
  readonly #script: ChildProcess
  #shown = ''

  /** Starts a command line of sh; whether colours are wanted is not inherited. */
  constructor(command: string, env: Readonly<Record<string, string>> = {}) {
    const { NO_COLOR: _, FORCE_COLOR: __, ...inherited } = process.env
    this.#script = spawn('script', ['-qefc', command, '/dev/null'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...inherited, TERM: 'xterm', ...env },
    })
    this.#script.stdout?.on('data', (chunk) => {
      this.#shown += String(chunk)
    })
  }

  /** All that was shown so far. */
  get shown(): string {
    return this.#shown
  }

  /** Types keys, waits until what is shown since then matches, colours, bells and movements of the cursor apart, and returns that. */
  async type(keys: string, pattern: RegExp): Promise<string> {
    const before = this.#shown.length
    this.#script.stdin?.write(keys)
    const shown = () => stripVTControlCharacters(this.#shown.slice(before)).replaceAll('\u0007', '')
    await until(`the terminal shows ${pattern}`, () => pattern.test(shown()), 15_000).catch((error: Error) => {
      throw new Error(`${error.message}: ${JSON.stringify(shown())}`)
    })
    return shown()
  }

  /** Waits for the end of the command. */
  async end(): Promise<void> {
    if (this.#script.stdout?.closed === false) await once(this.#script, 'close')
  }

  /** Interactive shells ignore SIGTERM: the hang-up of their terminal ends them. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#script.exitCode !== null || this.#script.signalCode !== null) return
    this.#script.kill('SIGKILL')
    await once(this.#script, 'exit')
    this.#script.stdout?.destroy()
  }
}
