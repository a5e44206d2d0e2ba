import { setTimeout as sleep } from 'node:timers/promises'
import { findGroupLeaders, isAlive, type ProcessIdentity, signalGroup } from '../../host/index.ts'

const pollMs = 20

/**
 * Plugins that an agent before this one started and that still run: it was killed, they were not. Until they have ended nothing else is done at
 * their container, since an ADD that goes on beside our DEL makes what nobody knows of.
 */
export class EarlierPlugins {
  readonly #path: string
  readonly #timeoutMs: number
  /** By container; looked for once, before this process starts a plugin of its own. */
  #found: ReadonlyMap<string, readonly ProcessIdentity[]> | undefined
  #deadlineMs = 0

  /** Those of other runtimes know other folders. At `timeoutMs`, which is as long as any plugin may take, their process groups are killed. */
  constructor(binDirs: readonly string[], timeoutMs: number) {
    this.#path = binDirs.join(':')
    this.#timeoutMs = timeoutMs
  }

  /** Resolves when none is left at this container. */
  async ended(containerId: string): Promise<void> {
    if (this.#found === undefined) {
      this.#found = findPlugins(this.#path)
      this.#deadlineMs = performance.now() + this.#timeoutMs
    }
    let left = this.#found.get(containerId) ?? []
    for (;;) {
      left = left.filter(isAlive)
      if (left.length === 0) return
      if (performance.now() >= this.#deadlineMs) for (const plugin of left) signalGroup(plugin, 'SIGKILL')
      await sleep(pollMs)
    }
  }
}

function findPlugins(path: string): Map<string, ProcessIdentity[]> {
  const found = new Map<string, ProcessIdentity[]>()
  for (const { environment, ...plugin } of findGroupLeaders('CNI_COMMAND')) {
    const containerId = environment.get('CNI_CONTAINERID')
    if (containerId === undefined || environment.get('CNI_PATH') !== path) continue
    found.set(containerId, [...(found.get(containerId) ?? []), plugin])
  }
  return found
}
