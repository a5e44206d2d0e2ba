import { type ApiClient, listPages } from '../../client/index.ts'
import { type Pod, podSchema } from '../objects/pod.ts'
import { claimKeysOf } from '../objects/pod-claims.ts'
import { podType } from '../objects/types.ts'

/** The pods of one list by the claims that they use; undefined where the list lacks a pod. */
type PodsByClaim = ReadonlyMap<string, readonly Pod[]> | undefined

interface Listing {
  readonly startedMs: number
  readonly pods: Promise<PodsByClaim>
}

/** How long a list may serve other claims. */
const keptMs = 10_000

/**
 * Lists of the pods of a namespace as the API server has them. One list serves all claims that were deleted before it began: a namespace that goes with a
 * thousand claims would otherwise be listed a thousand times.
 */
export class ListedPods {
  readonly #client: ApiClient
  readonly #listings = new Map<string, Listing>()

  constructor(client: ApiClient) {
    this.#client = client
  }

  /** Returns the pods with a node that use a claim, from a list that began after `sinceMs`; undefined where they are not all known. */
  async usersOf(
    claim: { readonly key: string; readonly namespace: string },
    sinceMs: number,
    signal: AbortSignal,
  ): Promise<readonly Pod[] | undefined> {
    const known = this.#listings.get(claim.namespace)
    const listing = known !== undefined && known.startedMs >= sinceMs ? known : this.#start(claim.namespace, signal)
    const pods = await listing.pods
    return pods === undefined ? undefined : (pods.get(claim.key) ?? [])
  }

  #start(namespace: string, signal: AbortSignal): Listing {
    const listing = { startedMs: performance.now(), pods: listPods(this.#client, namespace, signal) }
    this.#listings.set(namespace, listing)
    const forget = () => {
      if (this.#listings.get(namespace) === listing) this.#listings.delete(namespace)
    }
    setTimeout(forget, keptMs).unref()
    listing.pods.catch(forget)
    return listing
  }
}

async function listPods(client: ApiClient, namespace: string, signal: AbortSignal): Promise<PodsByClaim> {
  const reduce = (json: unknown) => {
    const pod = podSchema.parse(json)
    return pod.spec.nodeName && pod.spec.volumes.length > 0 ? pod : undefined
  }
  const { items, leftOut } = await listPages(client, { resource: podType.resource, namespace }, { signal, reduce })
  if (leftOut.length > 0) return undefined
  const pods = (items as readonly (Pod | undefined)[]).filter((pod) => pod !== undefined)
  const byClaim = new Map<string, Pod[]>()
  for (const pod of pods) for (const key of claimKeysOf(pod)) byClaim.getOrInsert(key, []).push(pod)
  return byClaim
}
