import { setTimeout as sleep } from 'node:timers/promises'
import { findGroupLeaders, isAlive, type ProcessIdentity, signalGroup } from '../../host/index.ts'
import type { CallSettings } from './call-plugin.ts'
import { CniError } from './errors.ts'

const pollMs = 20

type EarlierSettings = Pick<CallSettings, 'timeoutMs' | 'running' | 'stop'>

/** A running plugin, whichever process started it. */
export interface StartedPlugin extends ProcessIdentity {
  readonly command: string
  readonly containerId: string
}

/**
 * Tracks plugins of an earlier agent that still run: the agent was killed, they were not. No operation on their container starts before
 * they have ended, because an ADD beside our DEL would make what no cache file records.
 */
export class EarlierPlugins {
  readonly #binDirs: readonly string[]
  readonly #settings: EarlierSettings
  /** Found plugins by container; the search runs once, before this process starts a plugin. */
  #found: ReadonlyMap<string, readonly StartedPlugin[]> | undefined
  #deadlineMs = 0

  /** `binDirs` distinguishes our plugins from those of other runtimes. At `timeoutMs`, the time limit of any plugin, their process groups are killed. */
  constructor(binDirs: readonly string[], settings: EarlierSettings) {
    this.#binDirs = binDirs
    this.#settings = settings
  }

  /** Resolves when no earlier plugin of this container runs. Throws CniError `cancelled` if the user interrupts the wait. */
  async ended(containerId: string): Promise<void> {
    if (this.#found === undefined) {
      this.#found = Map.groupBy(findPlugins(this.#binDirs), ({ containerId }) => containerId)
      this.#deadlineMs = performance.now() + this.#settings.timeoutMs
    }
    const left = (this.#found.get(containerId) ?? []).filter(isAlive)
    const [first] = left
    if (first === undefined) return
    const call = { command: first.command, plugin: 'of a process before this one', containerId }
    await this.#settings.running.during(call, this.#settings.timeoutMs, () => this.#wait(left))
  }

  async #wait(plugins: readonly StartedPlugin[]): Promise<void> {
    for (;;) {
      const left = plugins.filter(isAlive)
      if (left.length === 0) return
      if (this.#settings.stop?.work.aborted)
        throw new CniError('cancelled', 'the wait for an earlier plugin was given up')
      if (performance.now() >= this.#deadlineMs) for (const plugin of left) signalGroup(plugin, 'SIGKILL')
      await sleep(pollMs)
    }
  }
}

/** Finds the running plugins of this machine whose CNI_PATH has these folders, whichever process started them. */
export function findPlugins(binDirs: readonly string[]): readonly StartedPlugin[] {
  return findGroupLeaders('CNI_COMMAND').flatMap(({ environment, ...plugin }) => {
    const containerId = environment.get('CNI_CONTAINERID')
    if (containerId === undefined || environment.get('CNI_PATH') !== binDirs.join(':')) return []
    return [{ ...plugin, containerId, command: environment.get('CNI_COMMAND') ?? '' }]
  })
}
