import { z } from 'zod'
import type { ApiClient, InformerHandler, WireObject } from '../../../client/index.ts'
import { type ObjectKey, objectKey } from '../../../model/api-object.ts'
import { parseIp } from '../../../model/ip.ts'
import type { Logger } from '../../../observe/index.ts'
import type { Labels } from '../feed/label-selection.ts'
import type { ZoneFeed } from '../feed/zone-feed.ts'
import type { PodView } from '../zone/cluster-zone.ts'
import { OnDemandInformer } from './on-demand-informer.ts'

const labelled = z.object({ labels: z.record(z.string(), z.string()).default({}) })

const podSchema = z.object({
  metadata: labelled.extend({ deletionTimestamp: z.string().optional() }),
  status: z.object({
    phase: z.string().optional(),
    podIP: z.string().optional(),
    podIPs: z.array(z.object({ ip: z.string() })).optional(),
  }),
})

export interface OnDemandSourceParts {
  readonly client: ApiClient
  readonly plane: { readonly feed: ZoneFeed }
  readonly log: Logger
}

/** Watches the Pods of the whole cluster, while a zone verifies Pods. */
export function createPodSource({ client, plane: { feed }, log }: OnDemandSourceParts): OnDemandInformer {
  return new OnDemandInformer({
    name: 'dns-pods',
    watchWanted: (listener) => feed.watchPodsWanted(listener),
    collection: { resource: { group: '', version: 'v1', resource: 'pods' } },
    handler: podHandler(feed),
    client,
    log,
  })
}

/** Watches the labels of all Services, while a zone selects by them. */
export function createServiceLabelSource({ client, plane: { feed }, log }: OnDemandSourceParts): OnDemandInformer {
  return new OnDemandInformer({
    name: 'dns-service-labels',
    watchWanted: (listener) => feed.watchServiceLabelsWanted(listener),
    collection: { resource: { group: '', version: 'v1', resource: 'services' } },
    content: 'metadata',
    handler: {
      onReplace: (items) => feed.replaceServiceLabels(new Map(items.map((item) => [keyOf(item), labelsOf(item)]))),
      onEvent: (type, item) => feed.setServiceLabels(keyOf(item), type === 'DELETED' ? undefined : labelsOf(item)),
      onProgress: () => {},
    },
    client,
    log,
  })
}

function podHandler(feed: ZoneFeed): InformerHandler {
  return {
    onReplace: (items) => {
      const pods = items.map((item) => [keyOf(item), readPod(item)] as const)
      feed.replacePods(new Map(pods.filter((pair): pair is readonly [ObjectKey, PodView] => pair[1] !== undefined)))
    },
    onEvent: (type, item) => feed.setPod(keyOf(item), type === 'DELETED' ? undefined : readPod(item)),
    onProgress: () => {},
  }
}

/** Returns the labels of an object; none where they cannot be read. */
export function labelsOf({ metadata }: WireObject): Labels {
  return labelled.safeParse(metadata).data?.labels ?? {}
}

function keyOf({ metadata }: WireObject): ObjectKey {
  return objectKey(metadata.namespace ?? '', metadata.name)
}

/** Returns a Pod with its addresses; undefined for one that has ended, is being deleted, or has no address yet. */
export function readPod(item: WireObject): PodView | undefined {
  const parsed = podSchema.safeParse(item)
  if (!parsed.success) return undefined
  const { metadata, status } = parsed.data
  const isOver = ['Succeeded', 'Failed', 'Unknown'].includes(status.phase ?? '')
  if (isOver || metadata.deletionTimestamp !== undefined) return undefined
  const texts = status.podIPs?.map(({ ip }) => ip) ?? (status.podIP === undefined ? [] : [status.podIP])
  const addresses = texts.map(parseIp).filter((address) => address !== undefined)
  return addresses.length === 0
    ? undefined
    : { namespace: item.metadata.namespace ?? '', addresses, labels: metadata.labels }
}
