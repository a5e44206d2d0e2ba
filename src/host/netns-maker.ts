import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Writable } from 'node:stream'
import type { Component, Health } from '../loop/component.ts'
import { createNetns, deleteNetns } from './netns.ts'
import { checkNetnsName } from './netns-name.ts'
import { type Run, type RunningProgram, runProgram } from './programs/index.ts'

const program = join(import.meta.dirname, 'netns-maker.pl')

/** Numbers of unshare, mount and umount2 by process.arch (asm/unistd.h). On other architectures `ip` is used. */
const systemCalls: Readonly<Record<string, readonly string[]>> = {
  x64: ['272', '165', '166'],
  arm64: ['97', '40', '39'],
}

const answerTimeoutMs = 10_000

interface Maker extends Pick<RunningProgram, 'exited' | 'kill'> {
  readonly stdin: Writable
  /** Open requests, in order. */
  readonly waiting: ((answer: string) => void)[]
}

/**
 * Creates and removes namespaces through a small program that stays: 1.5 ms each instead of 5.5 with two runs of `ip`. After any failure
 * it falls back to `ip`, whose message names the cause. The program ends with `stop` or with this process.
 */
export class NetnsMaker implements Component {
  readonly name = 'netns-maker'
  readonly #run: Run
  readonly #numbers: readonly string[] | undefined
  #maker: Promise<Maker | undefined> | undefined
  readonly #sinceMs = Date.now()

  /** `run` starts `ip` for the fallback. */
  constructor(run: Run, architecture: string = process.arch) {
    this.#run = run
    this.#numbers = systemCalls[architecture]
  }

  /** Creates a namespace like `createNetns`. */
  async create(name: string): Promise<void> {
    checkNetnsName(name)
    if ((await this.#ask(`add ${name}`)) !== 'done') await createNetns(name, this.#run)
  }

  /** Removes a namespace like `deleteNetns`. */
  async delete(name: string): Promise<void> {
    checkNetnsName(name)
    if (!existsSync(`/run/netns/${name}`)) return
    if ((await this.#ask(`delete ${name}`)) !== 'done') await deleteNetns(name, this.#run)
  }

  /** Does nothing: the program starts with the first namespace. */
  async start(): Promise<void> {}

  async stop(): Promise<void> {
    const maker = await this.#maker
    maker?.kill('SIGKILL')
    await maker?.exited
  }

  /** Always `ok`, because `ip` is the fallback. */
  health(): Health {
    return { level: 'ok', message: 'makes network namespaces', sinceMs: this.#sinceMs }
  }

  /** Sends a request; undefined if the program is not available. Answers come in the order of the requests. */
  async #ask(question: string): Promise<string | undefined> {
    this.#maker ??= this.#startOnce()
    const maker = await this.#maker
    if (maker === undefined) return undefined
    const { promise, resolve } = Promise.withResolvers<string>()
    maker.waiting.push(resolve)
    maker.stdin.write(`${question}\n`)
    const timer = setTimeout(() => maker.kill('SIGKILL'), answerTimeoutMs)
    try {
      return await Promise.race([promise, maker.exited.then(() => undefined)])
    } finally {
      clearTimeout(timer)
    }
  }

  async #startOnce(): Promise<Maker | undefined> {
    if (this.#numbers === undefined) return undefined
    try {
      const { stdin, stdout, exited, kill } = await runProgram('perl', ['-w', program, ...this.#numbers], {
        background: true,
        stdin: 'pipe',
        stdout: 'pipe',
      })
      if (stdin === null || stdout === null) return undefined
      const waiting: Maker['waiting'] = []
      stdin.on('error', () => {})
      createInterface({ input: stdout }).on('line', (line) => waiting.shift()?.(line))
      void exited.then(() => {
        this.#maker = undefined
      })
      return { stdin, exited, kill, waiting }
    } catch {
      return undefined
    }
  }
}
