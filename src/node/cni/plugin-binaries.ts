import { accessSync, constants, statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { describeError } from '../../model/errors.ts'
import { type CallSettings, callPlugin } from './call-plugin.ts'
import { CniError, isCancelled } from './errors.ts'
import { knownVersions } from './versions.ts'

export interface FoundPlugin {
  readonly type: string
  readonly path: string
  readonly versions: readonly string[]
  /** The reason why its versions are unknown. */
  readonly problem?: string
}

const versionAnswer = z.looseObject({ supportedVersions: z.array(z.string()).min(1) })

/** Time limit of VERSION, shorter than that of ADD, because a plugin that does not answer delays every pod. */
const versionTimeoutMs = 10_000

/** Finds plugins and caches the answer of each to VERSION while its file is unchanged (inode and mtime). */
export class PluginBinaries {
  readonly #binDirs: readonly string[]
  readonly #settings: CallSettings
  readonly #answers = new Map<string, { readonly stamp: string; readonly versions: readonly string[] }>()

  constructor(binDirs: readonly string[], settings: CallSettings) {
    this.#binDirs = binDirs
    this.#settings = settings
  }

  /**
   * Finds the first executable of that name in the folders. Throws CniError `plugin-missing`. It runs for each plugin of each operation,
   * with synchronous calls, because a turn through the thread pool costs ten times as much.
   */
  find(type: string): string {
    const found = this.#locate(type)
    if (found !== undefined) return found
    throw new CniError('plugin-missing', `the plugin ${type} is in none of ${this.#binDirs.join(', ')}`, {
      object: type,
      remedy: 'install it there (Debian: containernetworking-plugins), or name its folder with --cni-bin-dir',
    })
  }

  /** Lists all plugins: each name once, from the first folder that has it. */
  async list(): Promise<readonly FoundPlugin[]> {
    const folders = await Promise.all(this.#binDirs.map((dir) => readdir(dir).catch(() => [])))
    const found: FoundPlugin[] = []
    for (const type of [...new Set(folders.flat())].sort()) {
      const path = this.#locate(type)
      if (path !== undefined) found.push({ type, path, ...(await this.#answerOf(type)) })
    }
    return found
  }

  #locate(type: string): string | undefined {
    return this.#binDirs.map((dir) => join(dir, type)).find(isExecutable)
  }

  async #answerOf(type: string): Promise<Pick<FoundPlugin, 'versions' | 'problem'>> {
    try {
      return { versions: await this.versions(type) }
    } catch (error) {
      if (isCancelled(error)) throw error
      return { versions: [], problem: describeError(error) }
    }
  }

  /** Returns the versions that a plugin supports. Throws CniError if it is missing or its answer is invalid. */
  async versions(type: string): Promise<readonly string[]> {
    const path = this.find(type)
    const { ino, mtimeMs, dev } = statSync(path)
    const stamp = `${dev}:${ino}:${mtimeMs}`
    const known = this.#answers.get(path)
    if (known?.stamp === stamp) return known.versions
    const versions = await this.#ask(type, path)
    this.#answers.set(path, { stamp, versions })
    return versions
  }

  async #ask(type: string, path: string): Promise<readonly string[]> {
    const call = { command: 'VERSION', plugin: type, path, binDirs: this.#binDirs } as const
    // Old plugins check all variables before they read the command.
    const variables = { CNI_CONTAINERID: 'version', CNI_NETNS: 'version', CNI_IFNAME: 'version' }
    const output = await callPlugin(
      { ...call, variables, config: { cniVersion: knownVersions.at(-1) } },
      { ...this.#settings, timeoutMs: Math.min(this.#settings.timeoutMs, versionTimeoutMs) },
    )
    const parsed = versionAnswer.safeParse(output)
    if (parsed.success) return parsed.data.supportedVersions
    throw new CniError('bad-output', `the plugin ${type} (VERSION) names no supportedVersions`, { object: path })
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
