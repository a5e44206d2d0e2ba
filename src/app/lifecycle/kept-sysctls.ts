import { applySysctls, type SysctlResult, type SysctlWish } from '../../host/index.ts'
import type { Component, Health } from '../../loop/component.ts'
import { Periodic } from '../../loop/periodic.ts'
import type { Logger } from '../../observe/index.ts'

/** The kernel does not report changes of its settings. */
const lookIntervalMs = 10_000

export interface KeptSysctlsParts {
  /** Settings without which the node does not do its work. */
  readonly wishes: readonly SysctlWish[]
  readonly log: Logger
  readonly intervalMs?: number
  /** Folder of kernel settings, for tests. */
  readonly root?: string
}

/**
 * Sets kernel settings again that other programs change while the agent runs: `sysctl --system`, which a package may run, sets
 * `ip_forward` to what the files of the node say, and forwarding to pods would end without a trace in the rules.
 */
export class KeptSysctls implements Component {
  readonly name = 'kernel-settings'
  readonly #parts: KeptSysctlsParts
  readonly #look: Periodic
  readonly #problems = new Map<string, string | undefined>()

  constructor(parts: KeptSysctlsParts) {
    this.#parts = parts
    this.#look = new Periodic(() => this.#setAgain(), {
      intervalMs: parts.intervalMs ?? lookIntervalMs,
      onError: (error) => parts.log.warn('kernel settings could not be looked at', { error }),
    })
  }

  async start(): Promise<void> {
    this.#look.start()
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    await this.#look.stop(scope)
  }

  health(): Health {
    return { level: 'ok', message: '', sinceMs: 0 }
  }

  async #setAgain(): Promise<void> {
    const { wishes, root } = this.#parts
    for (const result of await applySysctls(wishes, root)) this.#report(result)
  }

  /** The start has reported what the node has not got: a problem is one that came since then. */
  #report({ name, was, now, problem }: SysctlResult): void {
    const { log } = this.#parts
    const before = this.#problems.get(name)
    const isFirst = !this.#problems.has(name)
    this.#problems.set(name, problem)
    if (problem !== undefined && problem !== before && !isFirst)
      log.warn('a kernel setting was changed and cannot be set again', { name, now, problem })
    if (problem === undefined && was !== now)
      log.warn('a kernel setting that another program changed is set again', { name, was, now })
  }
}
