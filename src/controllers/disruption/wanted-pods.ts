import { type ApiClient, ApiError } from '../../client/index.ts'
import { ScaleTargets } from '../autoscaling/scale-targets.ts'
import { controllerOf } from '../objects/claim.ts'
import type { ControlledObject } from '../objects/parts.ts'
import type { Pod } from '../objects/pod.ts'
import type { Caches } from '../runtime/caches.ts'
import type { OwnerReference } from '../runtime/metadata.ts'
import type { ObjectCache } from '../runtime/object-cache.ts'
import type { Deployment, ReplicaSet, StatefulSet } from '../workloads/shapes.ts'
import { deploymentType, replicaSetType, statefulSetType } from '../workloads/types.ts'

interface Wanted {
  readonly uid: string
  readonly replicas: number
}

interface WantedPods {
  /** How many pods the controllers of these pods want together. */
  readonly count: number
  /** The pods without a controller: a budget that counts wanted pods cannot count them. */
  readonly unmanaged: readonly Pod[]
}

/** Finds how many pods a controller wants: by the caches of the workloads, else by its subresource `scale`. */
export class WantedPodsReader {
  readonly #sets: ObjectCache<ReplicaSet>
  readonly #deployments: ObjectCache<Deployment>
  readonly #statefulSets: ObjectCache<StatefulSet>
  readonly #targets: ScaleTargets

  constructor(client: ApiClient, caches: Caches) {
    this.#sets = caches.of(replicaSetType)
    this.#deployments = caches.of(deploymentType)
    this.#statefulSets = caches.of(statefulSetType)
    this.#targets = new ScaleTargets(client)
  }

  /** Throws for a pod whose controller is gone or cannot be scaled. */
  async read(pods: readonly Pod[], signal: AbortSignal): Promise<WantedPods> {
    const wanted = new Map<string, number>()
    const known = new Set<string>()
    const unmanaged: Pod[] = []
    for (const pod of pods) {
      const controller = controllerOf(pod)
      if (controller === undefined) unmanaged.push(pod)
      if (controller === undefined || known.has(controller.uid)) continue
      known.add(controller.uid)
      const { uid, replicas } = await this.#find(controller, pod, signal)
      wanted.set(uid, replicas)
    }
    return { count: [...wanted.values()].reduce((sum, count) => sum + count, 0), unmanaged }
  }

  async #find(controller: OwnerReference, pod: Pod, signal: AbortSignal): Promise<Wanted> {
    const { namespace = '', name } = pod.metadata
    const found = this.#fromCaches(controller, namespace) ?? (await this.#fromScale(controller, namespace, signal))
    if (found !== undefined) return found
    throw new Error(`found no controllers for pod "${name}"`)
  }

  #fromCaches({ kind, apiVersion, name, uid }: OwnerReference, namespace: string): Wanted | undefined {
    if (apiVersion !== 'apps/v1') return undefined
    const key = `${namespace}/${name}`
    if (kind === 'StatefulSet') return wantedBy(this.#statefulSets.get(key), uid)
    if (kind !== 'ReplicaSet') return undefined
    const set = this.#sets.get(key)
    const owner = set && controllerOf(set)
    if (owner?.kind !== 'Deployment') return wantedBy(set, uid)
    return wantedBy(this.#deployments.get(`${namespace}/${owner.name}`), owner.uid)
  }

  async #fromScale(target: OwnerReference, namespace: string, signal: AbortSignal): Promise<Wanted | undefined> {
    try {
      const { replicas } = await this.#targets.read(await this.#targets.find(target, namespace, signal), signal)
      return { uid: target.uid, replicas }
    } catch (error) {
      if (error instanceof ApiError && error.code === 'not-found') return undefined
      throw error
    }
  }
}

function wantedBy(
  workload: (ControlledObject & { readonly spec: { readonly replicas: number } }) | undefined,
  uid: string,
): Wanted | undefined {
  return workload?.metadata.uid === uid ? { uid, replicas: workload.spec.replicas } : undefined
}
