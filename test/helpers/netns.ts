import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import {
  type BackgroundOptions,
  createNetns,
  deleteNetns,
  type ProgramResult,
  type Run,
  type RunningProgram,
  runProgram,
} from '../../src/host/index.ts'

/** A network namespace of one test. */
export interface TestNetns {
  readonly name: string
  /** `runProgram` inside; for adapters that take a `Run`. */
  readonly run: Run
  /** Ten seconds at most; returns standard output. */
  exec(file: string, ...args: readonly string[]): Promise<string>
  start(file: string, args: readonly string[], options?: Omit<BackgroundOptions, 'background'>): Promise<RunningProgram>
}

/** Why tests with namespaces and these programs cannot run here; false where they can. The shape of `TestOptions.skip`. */
export function skipReason(...programs: readonly string[]): string | false {
  if (process.getuid?.() !== 0) return 'needs root'
  const folders = `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`.split(':')
  const isMissing = (program: string) =>
    !(program.startsWith('/') ? existsSync(program) : folders.some((folder) => existsSync(`${folder}/${program}`)))
  const missing = ['ip', ...programs].filter(isMissing)
  return missing.length > 0 && `needs ${missing.join(', ')}`
}

/** Makes namespaces and what runs in them, and remembers them for removal. */
export class NetnsLab {
  readonly #names: string[] = []
  readonly #programs: RunningProgram[] = []

  async create(): Promise<TestNetns> {
    const name = `plt-${randomBytes(4).toString('hex')}`
    this.#names.push(name)
    await createNetns(name)
    const run: Run = (file, args, options): Promise<ProgramResult> =>
      runProgram(file, args, { netns: name, ...options })
    return {
      name,
      run,
      exec: async (file, ...args) => (await run(file, args, { timeoutMs: 10_000 })).stdout,
      start: async (file, args, options) => {
        const program = await runProgram(file, args, { netns: name, background: true, ...options })
        this.#programs.push(program)
        return program
      },
    }
  }

  /** Before the others, with no program left in it, as after a reboot. */
  async removeOne(name: string): Promise<void> {
    await deleteNetns(name)
  }

  async remove(): Promise<void> {
    for (const program of this.#programs) program.kill('SIGKILL')
    await Promise.all(this.#programs.map((program) => program.exited))
    await Promise.all(this.#names.map((name) => deleteNetns(name)))
  }
}

/** Runs `body` and removes all it made, also when making it failed half way. */
export async function withNetns(body: (lab: NetnsLab) => Promise<void>): Promise<void> {
  const lab = new NetnsLab()
  try {
    await body(lab)
  } finally {
    await lab.remove()
  }
}
