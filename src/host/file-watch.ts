import { type FSWatcher, readFileSync, realpathSync, watch } from 'node:fs'
import { dirname } from 'node:path'

/** The time in which several steps of one change, such as write and rename, count as one. */
const settleMs = 100

/**
 * Calls back when the text of a file has changed: written in place, replaced by a rename, or behind a link that leads elsewhere, as the files of
 * a mounted ConfigMap do. A file that cannot be read counts as a text of its own. It does not keep the process alive.
 */
export class FileWatch {
  readonly #path: string
  readonly #onChange: () => void
  #watchers: readonly FSWatcher[] = []
  #timer: NodeJS.Timeout | undefined
  #text: string | undefined

  constructor(path: string, onChange: () => void) {
    this.#path = path
    this.#onChange = onChange
  }

  start(): void {
    this.#text = this.#read()
    this.#arm()
  }

  stop(): void {
    clearTimeout(this.#timer)
    for (const watcher of this.#watchers) watcher.close()
    this.#watchers = []
  }

  /** Watches the folders of the link and of the file: a rename is an event of the folder. */
  #arm(): void {
    for (const watcher of this.#watchers) watcher.close()
    const folders = new Set([dirname(this.#path), dirname(this.#target())])
    this.#watchers = [...folders].flatMap((folder) => this.#watchFolder(folder))
  }

  #watchFolder(folder: string): readonly FSWatcher[] {
    try {
      const watcher = watch(folder, { persistent: false }, () => this.#settle())
      watcher.on('error', () => this.#settle())
      return [watcher]
    } catch {
      return []
    }
  }

  #settle(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#compare(), settleMs)
    this.#timer.unref()
  }

  #compare(): void {
    this.#arm()
    const text = this.#read()
    if (text === this.#text) return
    this.#text = text
    this.#onChange()
  }

  #target(): string {
    try {
      return realpathSync(this.#path)
    } catch {
      return this.#path
    }
  }

  #read(): string | undefined {
    try {
      return readFileSync(this.#path, 'utf8')
    } catch {
      return undefined
    }
  }
}
