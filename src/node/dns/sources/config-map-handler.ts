import { z } from 'zod'
import { ApiError, type InformerHandler, type WireObject } from '../../../client/index.ts'
import type { Logger } from '../../../observe/index.ts'
import type { DnsPlane } from '../plane/plane.ts'

const configMapSchema = z.object({ data: z.record(z.string(), z.string()).default({}) })

/** How long reading may be forbidden before the built-in Corefile is used: a server that has just started may not know yet what a node may read. */
const forbiddenForMs = 5_000

/**
 * Passes the ConfigMap `coredns` to the plane. A node that may not read it, such as one of a Kubernetes cluster without that grant, uses the
 * built-in Corefile; without that it would wait for ever.
 */
export function configMapHandler(
  plane: Pick<DnsPlane, 'changeConfigMap'>,
  log: Logger,
  nowMs = () => performance.now(),
): InformerHandler {
  let isKnown = false
  let forbiddenSinceMs: number | undefined
  const take = (item: WireObject | undefined) => {
    isKnown = true
    const parsed = configMapSchema.safeParse(item)
    plane.changeConfigMap(item && (parsed.data?.data ?? {}))
  }
  return {
    onReplace: (items, _, leftOut) => {
      // A ConfigMap that cannot be read exists, so what is known of it stays.
      if (!leftOut.some(({ name }) => name === 'coredns'))
        take(items.find(({ metadata }) => metadata.name === 'coredns'))
    },
    onEvent: (type, item) => item.metadata.name === 'coredns' && take(type === 'DELETED' ? undefined : item),
    onProgress: () => {},
    onFailure: (error) => {
      if (isKnown) return
      const isForbidden = error instanceof ApiError && error.code === 'forbidden'
      forbiddenSinceMs = isForbidden ? (forbiddenSinceMs ?? nowMs()) : undefined
      if (forbiddenSinceMs === undefined || nowMs() - forbiddenSinceMs < forbiddenForMs) return
      const remedy = 'let the node get, list and watch the ConfigMap coredns in kube-system'
      log.warn('this node may not read the ConfigMap kube-system/coredns: the built-in Corefile is used', { remedy })
      take(undefined)
    },
  }
}
