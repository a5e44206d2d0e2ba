import type { AttachmentRemoval } from './attachment-removal.ts'
import { type ChainContext, collectChain } from './chain.ts'
import { findOnNode, type LeftoverPlaces, releaseLeftovers } from './find-leftovers.ts'
import type { LoadedNetworks } from './load-networks.ts'
import type { AttachmentLocks } from './locks.ts'
import { type Leftovers, planLeftovers } from './plan.ts'
import type { Attachment } from './result-cache.ts'
import { isAtLeast, since } from './versions.ts'

/** An attachment that GC must keep (`cni.dev/valid-attachments`). */
export type ValidAttachment = Pick<Attachment, 'containerId' | 'ifName'>

export interface GcReport {
  /** Attachments that were removed by DEL, as `network/container/interface`. */
  readonly deleted: readonly string[]
  /** One line for each address, chain and file that was released beside that. */
  readonly released: readonly string[]
  readonly errors: readonly unknown[]
}

export interface GarbageCollectionParts {
  readonly context: ChainContext
  readonly places: LeftoverPlaces
  readonly locks: AttachmentLocks
  readonly removal: AttachmentRemoval
  /** Loads the networks that are configured now. */
  readonly networks: () => Promise<LoadedNetworks>
}

/** Removes what no container needs: attachments, addresses of host-local, chains of plugins. Runs while no other operation does. */
export class GarbageCollection {
  readonly #parts: GarbageCollectionParts

  constructor(parts: GarbageCollectionParts) {
    this.#parts = parts
  }

  /**
   * Removes attachments of this runtime whose sandbox is not among `valid`, releases addresses and chains without an attachment, and
   * calls GC of the plugins that support it. Attachments of other runtimes in the same cache stay.
   */
  async collect(valid: readonly ValidAttachment[]): Promise<GcReport> {
    const { locks, places } = this.#parts
    return locks.alone(async () => {
      await places.cache.removeHalfWritten()
      const found = await findOnNode(places)
      const leftovers = planLeftovers(found, new Set(valid.map(({ containerId }) => containerId)))
      const ours = leftovers.attachments.filter(({ isOurs }) => isOurs)
      const report = await this.#clean({ ...leftovers, attachments: ours, unreadableFiles: [] })
      // Attachments of other runtimes on the same network are as valid as ours.
      const all = [...valid, ...found.attachments.filter(({ isOurs }) => !isOurs)]
      return { ...report, errors: [...report.errors, ...(await this.#callPlugins(all))] }
    })
  }

  /** Finds what no living container needs, of any runtime; a container lives as long as its namespace exists. Changes nothing. */
  async leftovers(): Promise<Leftovers> {
    return planLeftovers(await findOnNode(this.#parts.places), undefined)
  }

  /** Removes what `leftovers` found. */
  async clean(leftovers: Leftovers): Promise<GcReport> {
    return this.#parts.locks.alone(() => this.#clean(leftovers))
  }

  async #clean(leftovers: Leftovers): Promise<GcReport> {
    const { places, removal } = this.#parts
    const errors: unknown[] = []
    const deleted: string[] = []
    for (const { network, containerId, ifName } of leftovers.attachments) {
      try {
        const cached = await places.cache.find(containerId, ifName)
        await removal.deleteAll(cached.filter((attachment) => attachment.network === network))
        deleted.push(`${network}/${containerId}/${ifName}`)
      } catch (error) {
        errors.push(error)
      }
    }
    try {
      return { deleted, released: await releaseLeftovers(leftovers, places), errors }
    } catch (error) {
      return { deleted, released: [], errors: [...errors, error] }
    }
  }

  async #callPlugins(valid: readonly ValidAttachment[]): Promise<unknown[]> {
    const errors: unknown[] = []
    for (const network of (await this.#parts.networks()).networks) {
      if (network.disableGc || !isAtLeast(network.cniVersion, since.gc)) continue
      errors.push(...(await collectChain(this.#parts.context, network, valid)))
    }
    return errors
  }
}
