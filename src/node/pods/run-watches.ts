import { type FSWatcher, watch } from 'node:fs'

/** Watches the folders of containers' runs, one a container: what changes in them wakes. */
export class RunWatches {
  readonly #wake: () => void
  readonly #watchers = new Map<string, { readonly folder: string; readonly watcher: FSWatcher }>()

  constructor(wake: () => void) {
    this.#wake = wake
  }

  /** A container's earlier run is no longer watched. Where no watch can be had, whoever asks for it looks by itself now and then. */
  watch(container: string, folder: string): void {
    if (this.#watchers.get(container)?.folder === folder) return
    this.drop(container)
    try {
      const watcher = watch(folder, { persistent: false }, () => this.#wake())
      watcher.on('error', () => this.drop(container))
      this.#watchers.set(container, { folder, watcher })
    } catch {
      // No folder, or no more watches (inotify's limits).
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
