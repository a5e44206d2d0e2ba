import { setTimeout as sleep } from 'node:timers/promises'
import { findGroupLeaders, isAlive, type ProcessIdentity, signalGroup } from '../../host/index.ts'
import type { CallSettings } from './call-plugin.ts'
import { CniError } from './errors.ts'

const pollMs = 20

type EarlierSettings = Pick<CallSettings, 'timeoutMs' | 'running' | 'stop'>

/** A plugin that somebody started and that still runs. */
export interface StartedPlugin extends ProcessIdentity {
  readonly command: string
  readonly containerId: string
}

/**
 * Plugins that an agent before this one started and that still run: it was killed, they were not. Until they have ended nothing else is done at
 * their container, since an ADD that goes on beside our DEL makes what nobody knows of.
 */
export class EarlierPlugins {
  readonly #binDirs: readonly string[]
  readonly #settings: EarlierSettings
  /** By container; looked for once, before this process starts a plugin of its own. */
  #found: ReadonlyMap<string, readonly StartedPlugin[]> | undefined
  #deadlineMs = 0

  /** Those of other runtimes know other folders. At `timeoutMs`, which is as long as any plugin may take, their process groups are killed. */
  constructor(binDirs: readonly string[], settings: EarlierSettings) {
    this.#binDirs = binDirs
    this.#settings = settings
  }

  /** Resolves when none is left at this container. Throws CniError `cancelled` where its user ends the wait. */
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

/** Those of this machine that look for others in these folders, whoever started them. */
export function findPlugins(binDirs: readonly string[]): readonly StartedPlugin[] {
  return findGroupLeaders('CNI_COMMAND').flatMap(({ environment, ...plugin }) => {
    const containerId = environment.get('CNI_CONTAINERID')
    if (containerId === undefined || environment.get('CNI_PATH') !== binDirs.join(':')) return []
    return [{ ...plugin, containerId, command: environment.get('CNI_COMMAND') ?? '' }]
  })
}
