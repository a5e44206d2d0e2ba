import { z } from 'zod'
import { ConfigError } from '../../config/index.ts'
import { type RunningProgram, runProgram } from '../../host/index.ts'
import { Backoff } from '../../loop/backoff.ts'
import type { Component, Health } from '../../loop/component.ts'
import { PlatnetError } from '../../model/errors.ts'
import type { Logger } from '../../observe/logger.ts'
import type { ReloadReport, ShownOptions } from '../live-options.ts'
import { exitCodes } from './exit-codes.ts'

const agentMessage = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('ready') }),
  z.object({ kind: z.literal('alive'), status: z.string() }),
])

/** Message from the agent to its supervisor: the first sync is applied; all of its parts work, with one line about them. */
export type AgentMessage = Readonly<z.infer<typeof agentMessage>>

/** How often an agent that works says so while its status changes. */
export const aliveIntervalMs = 5_000

/** How often it says so at rest: thrice in the time after which it counts as stuck. A beat examines every part and costs some 10 ms. */
export const aliveAtRestMs = 20_000

/** Message from the supervisor to the agent. */
export type SupervisorMessage = {
  readonly kind: 'options'
  readonly shown: ShownOptions
  readonly report: ReloadReport | undefined
}

export interface SupervisedAgent {
  /** Returns the program and its arguments: the `agent` command of this program with the options in force. */
  readonly command: () => readonly [file: string, ...args: string[]]
  /** Called each time the agent has applied its first sync. */
  readonly onReady: () => void
  readonly log: Logger
  /** A ready agent that does not say within this time that it works is ended; one minute if absent. */
  readonly silentAfterMs?: number
}

/** For the messages of an agent that stood still together with this process, as on a machine that slept. */
const graceMs = 2000

const healthyAfterMs = 60_000

class AgentError extends PlatnetError<'EPERM'> {}

/**
 * Keeps the agent running as a second process: restarts it with backoff when it ends, and ends it when this component stops. An agent
 * that refuses its options or its privilege would end the same way each time, so it is not started again. One that is ready and then no
 * longer says that it works is stuck; it is killed, and started again.
 */
export class AgentSupervisor implements Component {
  readonly name = 'agent'
  readonly #agent: SupervisedAgent
  readonly #backoff = new Backoff({ baseMs: 200, maxMs: 30_000 })
  #child: RunningProgram | undefined
  #restart: NodeJS.Timeout | undefined
  #silence: NodeJS.Timeout | undefined
  readonly #gaveUp = Promise.withResolvers<Error>()
  #stopping = false
  #health: Health = { level: 'unknown', message: 'not started', sinceMs: 0 }

  constructor(agent: SupervisedAgent) {
    this.#agent = agent
  }

  async start(): Promise<void> {
    this.#stopping = false
    await this.#spawn()
  }

  /** Sends SIGTERM, then SIGKILL at the deadline. */
  async stop({ signal }: { signal: AbortSignal }): Promise<void> {
    this.#stopping = true
    clearTimeout(this.#restart)
    clearTimeout(this.#silence)
    const child = this.#child
    if (!child) return
    signal.addEventListener('abort', () => child.kill('SIGKILL'), { once: true })
    child.kill('SIGTERM')
    await child.exited
    this.#setHealth('stopped', 'the agent has ended')
  }

  /** Sends a message to the agent; does nothing while no agent runs, because the next one starts with this process' options. */
  async send(message: SupervisorMessage): Promise<void> {
    await this.#child?.send(message)
  }

  /** Resolves with the reason when the agent has ended in a way that no restart changes; the agent has written the details to standard error. */
  get gaveUp(): Promise<Error> {
    return this.#gaveUp.promise
  }

  health(): Health {
    return this.#health
  }

  async #spawn(): Promise<void> {
    const { command, log } = this.#agent
    const [file, ...args] = command()
    const startedMs = performance.now()
    const child = await runProgram(file, args, { background: true, stdout: 'inherit', stderr: 'inherit', ipc: true })
    this.#child = child
    this.#setHealth('unknown', `the agent (pid ${child.pid}) has not applied its first sync yet`)
    log.info('agent started', { pid: child.pid })
    child.onMessage((message) => this.#onMessage(message, child.pid))
    void child.exited.then((exit) => this.#onExit({ ...exit, pid: child.pid }, performance.now() - startedMs))
  }

  #onMessage(message: unknown, pid: number): void {
    const { data } = agentMessage.safeParse(message)
    if (data === undefined || this.#child?.pid !== pid) return
    if (data.kind === 'ready') {
      this.#setHealth('ok', `the agent (pid ${pid}) is ready`)
      this.#agent.onReady()
    } else if (this.#health.level === 'ok') {
      this.#setHealth('ok', data.status)
    }
    if (this.#health.level === 'ok') this.#awaitNextSign()
  }

  #awaitNextSign(): void {
    const { silentAfterMs = 60_000 } = this.#agent
    clearTimeout(this.#silence)
    const wait = (forMs: number, then: () => void): void => {
      this.#silence = setTimeout(then, forMs)
    }
    wait(silentAfterMs, () => wait(Math.min(graceMs, silentAfterMs), () => this.#endStuckAgent(silentAfterMs)))
  }

  #endStuckAgent(silentMs: number): void {
    this.#agent.log.error('the agent is stuck and is ended', { pid: this.#child?.pid, silentMs })
    this.#child?.kill('SIGKILL')
  }

  #onExit(exit: Readonly<Record<string, unknown>>, livedMs: number): void {
    this.#child = undefined
    clearTimeout(this.#silence)
    if (this.#stopping) return
    const final = finalReason(exit['exitCode'])
    if (final !== undefined) {
      this.#setHealth('stopped', final.message)
      this.#gaveUp.resolve(final)
      return
    }
    if (livedMs > healthyAfterMs) this.#backoff.reset()
    const delayMs = Math.round(this.#backoff.nextDelayMs())
    this.#setHealth('degraded', `the agent ended and is started again in ${delayMs} ms`)
    this.#agent.log.error('the agent ended, its rules stay in the kernel; it is started again', { ...exit, delayMs })
    this.#restart = setTimeout(() => void this.#spawn().catch((error) => this.#onSpawnFailure(error)), delayMs)
  }

  #onSpawnFailure(error: unknown): void {
    this.#agent.log.error('the agent could not be started', { error })
    this.#onExit({}, 0)
  }

  #setHealth(level: Health['level'], message: string): void {
    const sinceMs = this.#health.level === level ? this.#health.sinceMs : Date.now()
    this.#health = { level, message, sinceMs }
  }
}

function finalReason(exitCode: unknown): Error | undefined {
  if (exitCode === exitCodes.usage)
    return new ConfigError('config-invalid', ['the agent refuses its options; its message is above'])
  if (exitCode === exitCodes.noPrivilege)
    return new AgentError('EPERM', 'the agent lacks a privilege; its message is above')
  return undefined
}
