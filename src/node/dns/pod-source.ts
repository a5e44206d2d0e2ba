import { z } from 'zod'
import { type ApiClient, Informer, type InformerHandler, type WireObject } from '../../client/index.ts'
import type { Component, Health } from '../../loop/component.ts'
import { type ObjectKey, objectKey } from '../../model/api-object.ts'
import { parseIp } from '../../model/ip.ts'
import type { Logger } from '../../observe/index.ts'
import type { PodView } from './zone/cluster-zone.ts'
import type { ZoneFeed } from './zone-feed.ts'

const podSchema = z.object({
  metadata: z.object({ deletionTimestamp: z.string().optional() }),
  status: z.object({
    phase: z.string().optional(),
    podIP: z.string().optional(),
    podIPs: z.array(z.object({ ip: z.string() })).optional(),
  }),
})

export interface PodSourceParts {
  readonly client: ApiClient
  readonly plane: { readonly feed: Pick<ZoneFeed, 'watchPodsWanted' | 'setPod' | 'replacePods'> }
  readonly log: Logger
}

/** Follows the Pods of the whole cluster while a zone answers only for those that are there, and asks for nothing otherwise. */
export class PodSource implements Component {
  readonly name = 'dns-pods'
  readonly #parts: PodSourceParts
  #informer: Informer | undefined

  constructor(parts: PodSourceParts) {
    this.#parts = parts
  }

  async start(): Promise<void> {
    this.#parts.plane.feed.watchPodsWanted((wanted) => this.#follow(wanted))
  }

  async stop(): Promise<void> {
    this.#parts.plane.feed.watchPodsWanted(() => {})
    await this.#informer?.stop()
  }

  health(): Health {
    return this.#informer?.health() ?? { level: 'ok', message: 'no zone asks for Pods', sinceMs: 0 }
  }

  /** Nothing waits for the list: until it is there, names of Pods do not exist. */
  #follow(wanted: boolean): void {
    const { client, log } = this.#parts
    if (wanted === (this.#informer !== undefined)) return
    const before = this.#informer
    this.#informer = undefined
    void before?.stop()
    if (!wanted) return
    const collection = { resource: { group: '', version: 'v1', resource: 'pods' } }
    this.#informer = new Informer({ client, collection, handler: this.#handler(), log })
    this.#informer
      .start({ signal: AbortSignal.timeout(0x7fff_ffff) })
      .catch((error) => log.warn('Pods could not be listed', { error }))
  }

  #handler(): InformerHandler {
    const { feed } = this.#parts.plane
    return {
      onReplace: (items) => {
        const pods = items.map((item) => [keyOf(item), readPod(item)] as const)
        feed.replacePods(new Map(pods.filter((pair): pair is readonly [ObjectKey, PodView] => pair[1] !== undefined)))
      },
      onEvent: (type, item) => feed.setPod(keyOf(item), type === 'DELETED' ? undefined : readPod(item)),
      onProgress: () => {},
    }
  }
}

function keyOf({ metadata }: WireObject): ObjectKey {
  return objectKey(metadata.namespace ?? '', metadata.name)
}

/** A Pod with its addresses; none that has ended, is going, or has no address yet. */
export function readPod(item: WireObject): PodView | undefined {
  const parsed = podSchema.safeParse(item)
  if (!parsed.success) return undefined
  const { metadata, status } = parsed.data
  const isOver = ['Succeeded', 'Failed', 'Unknown'].includes(status.phase ?? '')
  if (isOver || metadata.deletionTimestamp !== undefined) return undefined
  const texts = status.podIPs?.map(({ ip }) => ip) ?? (status.podIP === undefined ? [] : [status.podIP])
  const addresses = texts.map(parseIp).filter((address) => address !== undefined)
  return addresses.length === 0 ? undefined : { namespace: item.metadata.namespace ?? '', addresses }
}
