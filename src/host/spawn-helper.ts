import { join } from 'node:path'
import type { Component, Health } from '../loop/component.ts'
import {
  commonOptions,
  ExecError,
  explainFailure,
  explainStartFailure,
  type ProgramEnd,
  type RunningProgram,
  type runProgram,
  startProgram,
} from './exec.ts'
import { type CapturedRun, type CaptureOptions, runCaptured } from './run-captured.ts'

type PlainOptions = Omit<CaptureOptions, 'signal'>

/** What the helper is told. */
export type HelperRequest =
  | { readonly id: number; readonly file: string; readonly args: readonly string[]; readonly options: PlainOptions }
  | { readonly abort: number }

/** What it answers: parts of long output, then how the program ended with the rest of it, or why it did not start. */
export type HelperAnswer =
  | { readonly id: number; readonly part: string }
  | { readonly id: number; readonly run: CapturedRun }
  | { readonly id: number; readonly failure: { readonly reason: string; readonly code?: string } }

interface Pending {
  readonly file: string
  readonly parts: string[]
  readonly resolve: (run: CapturedRun) => void
  readonly reject: (error: unknown) => void
}

/** Of programs that are trusted: the rules of 50,000 Services, ten times. */
const maxOutputBytes = 256 * 1024 * 1024

/** The helper passes texts on and keeps none. */
const smallHeap = ['--max-semi-space-size=1']

const programFile = join(import.meta.dirname, 'spawn-helper.program.ts')

/**
 * `runCaptured` by way of a small process of ours. A fork copies the page tables of the process that forks, and its event loop stands still
 * meanwhile: 1 ms for a small one, 4 ms with 100 MB, 17 ms with 400 MB. It ends with
 * `stop`, or with this process, however that ends; where it cannot be started programs are started directly.
 */
export class SpawnHelper implements Component {
  readonly name = 'spawn-helper'
  readonly #pending = new Map<number, Pending>()
  #helper: Promise<RunningProgram | undefined> | undefined
  #lastId = 0
  readonly #sinceMs = Date.now()

  /** As `runCaptured`; throws ExecError `killed` where the helper was ended under it: how the program ended is not known then. */
  readonly run: typeof runCaptured = async (file, args, { signal, ...options }) => {
    const helper = await this.#start()
    if (helper === undefined) return runCaptured(file, args, { ...options, ...(signal && { signal }) })
    this.#lastId += 1
    const id = this.#lastId
    const { promise, resolve, reject } = Promise.withResolvers<CapturedRun>()
    this.#pending.set(id, { file, parts: [], resolve, reject })
    const onAbort = (): void => void helper.send({ abort: id }).catch(() => {})
    try {
      await helper.send({ id, file, args, options })
      signal?.addEventListener('abort', onAbort, { once: true })
      if (signal?.aborted) onAbort()
      return await promise
    } catch (error) {
      throw error instanceof ExecError ? error : helperGone(file, error)
    } finally {
      signal?.removeEventListener('abort', onAbort)
      this.#pending.delete(id)
    }
  }

  /** As the function of this name. */
  readonly runProgram: typeof runProgram = async (file, args, options) => {
    const { env, cwd, input = '', timeoutMs, signal } = { ...options, ...commonOptions(options) }
    const command = [file, ...args].join(' ')
    const { pid, ...run } = await this.run(file, args, {
      env: { ...ownEnvironment(), ...env },
      cwd,
      input,
      timeoutMs,
      maxOutputBytes,
      ...(signal && { signal }),
    })
    if (run.endedBy === 'exit' && run.exitCode === 0) return { ...run, exitCode: 0, pid }
    throw explainFailure(command, endOf(run), timeoutMs)
  }

  async start(): Promise<void> {
    await this.#start()
  }

  /** Programs that run go on, but nobody hears of their end. */
  async stop(): Promise<void> {
    const helper = await this.#helper
    helper?.kill('SIGKILL')
    await helper?.exited
  }

  /** Always well: without it programs are started directly. */
  health(): Health {
    return { level: 'ok', message: 'starts programs', sinceMs: this.#sinceMs }
  }

  #start(): Promise<RunningProgram | undefined> {
    this.#helper ??= this.#startOnce()
    return this.#helper
  }

  async #startOnce(): Promise<RunningProgram | undefined> {
    try {
      const helper = await startProgram(process.execPath, [...smallHeap, programFile], { ipc: true, stderr: 'inherit' })
      helper.onMessage((message) => this.#settle(message as HelperAnswer))
      void helper.exited.then(() => this.#onExit())
      return helper
    } catch {
      return undefined
    }
  }

  #settle(answer: HelperAnswer): void {
    const pending = this.#pending.get(answer.id)
    if (pending === undefined) return
    if ('part' in answer) {
      pending.parts.push(answer.part)
      return
    }
    if ('run' in answer) {
      pending.resolve({ ...answer.run, stdout: [...pending.parts, answer.run.stdout].join('') })
      return
    }
    const { reason, code } = answer.failure
    pending.reject(explainStartFailure(pending.file, { code, cause: Object.assign(new Error(reason), { code }) }))
  }

  #onExit(): void {
    this.#helper = undefined
    for (const { file, reject } of this.#pending.values()) reject(helperGone(file, undefined))
  }
}

function ownEnvironment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}

function endOf({ endedBy, exitCode, stderr }: CapturedRun): ProgramEnd {
  if (endedBy === 'timeout') return { endedBy, exitCode, stderr }
  if (endedBy === 'output')
    return { endedBy: 'signal', exitCode, stderr, signal: `us: more than ${maxOutputBytes} bytes of output` }
  const isKilled = endedBy === 'caller' || exitCode === undefined
  return { endedBy: isKilled ? 'signal' : 'exit', exitCode, stderr, ...(endedBy === 'exit' && { signal: 'a signal' }) }
}

function helperGone(file: string, cause: unknown): ExecError {
  const details = { command: file, exitCode: undefined, stderr: '', cause }
  return new ExecError('killed', `the helper that had started ${file} is gone`, details)
}
