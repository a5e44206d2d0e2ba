import { readFileSync } from 'node:fs'
import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/index.ts'
import { detectCgroups } from './cgroups.ts'
import { readContainerUsage } from './container-usage.ts'
import { type NodeUsage, parseNodeUsage } from './node-usage.ts'
import type { PodFolders } from './pod-folders.ts'
import { renderUsage } from './usage-text.ts'

/** Answers `/metrics/resource`. Nothing is read between two questions. */
export class UsageEndpoint {
  readonly #folders: PodFolders
  readonly #log: Logger
  #reported = ''

  constructor(folders: PodFolders, log: Logger) {
    this.#folders = folders
    this.#log = log
  }

  text(nowMs = Date.now()): string {
    return renderUsage(this.#readNode(), readContainerUsage(this.#folders, detectCgroups(), nowMs), nowMs)
  }

  /** Reports each reason once: the question repeats every few seconds. */
  #readNode(): NodeUsage | undefined {
    try {
      return parseNodeUsage(readFileSync('/proc/stat', 'utf8'), readFileSync('/proc/meminfo', 'utf8'))
    } catch (error) {
      const message = describeError(error)
      if (message !== this.#reported) this.#log.warn('the use of this node cannot be read', { error })
      this.#reported = message
      return undefined
    }
  }
}
