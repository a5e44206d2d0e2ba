import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeError } from '../../model/errors.ts'
import { CniError, isCancelled } from './errors.ts'
import { parseNetworkFile, parsePluginFile, withPlugins } from './parse-config.ts'
import type { PluginBinaries } from './plugin-binaries.ts'
import type { Network, NetworkConfig } from './types.ts'
import { negotiateVersion } from './versions.ts'

export interface LoadedNetworks {
  /** The networks in lexical order of their files: the first is the default. */
  readonly networks: readonly Network[]
  readonly skipped: readonly SkippedFile[]
}

interface SkippedFile {
  readonly file: string
  /** The reason; it begins with the name of the faulty file, also one of `net.d/<name>/`. */
  readonly reason: string
  /** The remedy, if it is not to correct the file. */
  readonly remedy?: string
}

const extensions = ['.conf', '.conflist', '.json']

/**
 * Reads a folder such as /etc/cni/net.d; a missing folder counts as empty. A faulty file is skipped and harms no other. The few small
 * files are read for every operation, synchronously: turns through the thread pool would cost more than everything else here.
 */
export async function loadNetworks(configDir: string, binaries: PluginBinaries): Promise<LoadedNetworks> {
  const networks: Network[] = []
  const skipped: SkippedFile[] = []
  for (const file of listFiles(configDir, extensions)) {
    try {
      networks.push(await loadNetwork(configDir, file, binaries))
    } catch (error) {
      if (isCancelled(error)) throw error
      skipped.push(describeSkipped(configDir, file, error))
    }
  }
  return { networks, skipped }
}

function describeSkipped(configDir: string, file: string, error: unknown): SkippedFile {
  const why = describeError(error)
  const reason = why.startsWith(configDir) ? why : `${file}: ${why}`
  const remedy = error instanceof CniError ? error.remedy : undefined
  return { file, reason, ...(remedy !== undefined && { remedy }) }
}

/** Chooses the version that the list, all plugins and this runtime support. Throws CniError. */
export async function negotiate(config: NetworkConfig, binaries: PluginBinaries): Promise<Network> {
  const types = [...new Set(config.plugins.map(({ type }) => type))]
  const spoken = await Promise.all(types.map((type) => binaries.versions(type)))
  const cniVersion = negotiateVersion(config.versions, spoken)
  if (cniVersion !== undefined) return { ...config, cniVersion }
  const answers = types.map((type, index) => `${type} speaks ${spoken[index]?.join(', ')}`).join('; ')
  throw new CniError('invalid-config', `${config.file}: it declares ${config.versions.join(', ')}, but ${answers}`, {
    object: config.file,
    remedy: 'declare a version that all its plugins speak',
  })
}

async function loadNetwork(configDir: string, file: string, binaries: PluginBinaries): Promise<Network> {
  const list = parseNetworkFile(file, readFileSync(file, 'utf8'))
  const more = list.takesFolder ? listFiles(join(configDir, list.config.name), ['.conf']) : []
  const plugins = more.map((path) => parsePluginFile(path, readFileSync(path, 'utf8')))
  return negotiate(withPlugins(list, plugins), binaries)
}

function listFiles(folder: string, endings: readonly string[]): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true })
    const files = entries.filter(
      (entry) => !entry.isDirectory() && endings.some((ending) => entry.name.endsWith(ending)),
    )
    return files.map(({ name }) => join(folder, name)).sort()
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return []
    throw error
  }
}
