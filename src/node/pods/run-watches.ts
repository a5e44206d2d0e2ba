import { type FSWatcher, watch } from 'node:fs'

/** Watches one run folder per container and calls `onChange` when a file in it changes. */
export class RunWatches {
  readonly #onChange: () => void
  readonly #watchers = new Map<string, { readonly folder: string; readonly watcher: FSWatcher }>()

  constructor(onChange: () => void) {
    this.#onChange = onChange
  }

  /** Replaces the watch of the container's earlier run. Without a watch (inotify's limits) the caller's polling finds the change. */
  watch(container: string, folder: string): void {
    if (this.#watchers.get(container)?.folder === folder) return
    this.drop(container)
    try {
      const watcher = watch(folder, { persistent: false }, () => this.#onChange())
      watcher.on('error', () => this.drop(container))
      this.#watchers.set(container, { folder, watcher })
    } catch {
      // The folder is gone, or the limits of inotify are reached.
    }
  }

  drop(container: string): void {
    this.#watchers.get(container)?.watcher.close()
    this.#watchers.delete(container)
  }

  dropAll(): void {
    for (const container of [...this.#watchers.keys()]) this.drop(container)
  }
}
