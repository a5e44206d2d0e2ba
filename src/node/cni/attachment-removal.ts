import { existsSync } from 'node:fs'
import { isNamespace } from '../../host/index.ts'
import { describeError } from '../../model/errors.ts'
import { type ChainContext, deleteChain } from './chain.ts'
import type { EarlierPlugins } from './earlier-plugins.ts'
import { CniError } from './errors.ts'
import { type LoadedNetworks, negotiate } from './load-networks.ts'
import { parseCachedNetwork } from './parse-config.ts'
import type { Attachment, ResultCache } from './result-cache.ts'
import type { Network, NetworkConfig } from './types.ts'

export interface RemovalParts {
  readonly context: ChainContext
  readonly cache: ResultCache
  readonly earlier: EarlierPlugins
  /** Loads the networks that are configured now. */
  readonly networks: () => Promise<LoadedNetworks>
}

/** Removes attachments by DEL, with the configuration of their ADD. The cache forgets an attachment only after its DEL. */
export class AttachmentRemoval {
  readonly #parts: RemovalParts

  constructor(parts: RemovalParts) {
    this.#parts = parts
  }

  /** Removes all in order. Throws CniError `delete-failed` at the first that fails. */
  async deleteAll(attachments: readonly Attachment[]): Promise<void> {
    for (const attachment of attachments) await this.delete(await this.#networkToDelete(attachment), attachment)
  }

  /** Removes one attachment. Throws CniError `delete-failed` after every plugin was called; its cause is an AggregateError. */
  async delete(network: Network, attachment: Attachment): Promise<void> {
    const { context, cache, earlier } = this.#parts
    await earlier.ended(attachment.containerId)
    const errors = await deleteChain(context, network, await withoutFalseNamespace(attachment))
    if (errors.length === 0) return cache.remove(attachment)
    const causes = errors.map(describeError).join('; ')
    throw new CniError('delete-failed', `the network ${network.name} could not be taken from the pod: ${causes}`, {
      object: `container ${attachment.containerId}`,
      remedy: '"platnet cni doctor" shows what is left; the agent repeats the removal for its own pods',
      cause: new AggregateError(errors, causes),
    })
  }

  /**
   * Returns the network of the attachment. A cached configuration that cannot be parsed must not keep a pod from ending: the network of
   * that name in net.d replaces it. If a plugin is missing or no longer speaks a version of the list, all plugins are called at the
   * version of ADD, and each fails for itself.
   */
  async #networkToDelete(attachment: Attachment): Promise<Network> {
    let config: NetworkConfig
    try {
      config = cachedConfig(attachment)
    } catch (error) {
      const { networks } = await this.#parts.networks()
      const found = networks.find(({ name }) => name === attachment.network)
      if (found === undefined) throw error
      return found
    }
    try {
      return await negotiate(config, this.#parts.context.binaries)
    } catch {
      return { ...config, cniVersion: String(config.json['cniVersion']) }
    }
  }
}

/** Parses the configuration that the cache holds for the attachment. Throws CniError. */
export function cachedConfig({ network, config }: Attachment): NetworkConfig {
  return parseCachedNetwork(`the remembered network ${network}`, config)
}

/** Clears a path that exists and is not a namespace, because plugins would fail at it each time; DEL without a namespace is allowed. */
async function withoutFalseNamespace(attachment: Attachment): Promise<Attachment> {
  const { netnsPath } = attachment
  return existsSync(netnsPath) && !(await isNamespace(netnsPath)) ? { ...attachment, netnsPath: '' } : attachment
}
