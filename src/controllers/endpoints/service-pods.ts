import type { Node } from '../objects/node.ts'
import type { Pod } from '../objects/pod.ts'
import type { Service } from '../objects/service.ts'
import type { ObjectCache } from '../runtime/object-cache.ts'
import { labelTerm, labelTerms, type ObjectIndex } from '../runtime/object-index.ts'
import { keyOf } from '../runtime/resource-type.ts'
import type { Rest } from '../runtime/work-queue.ts'

/**
 * A pass looks at all pods of a Service. The first change of a quiet one is written at once; where many pods change in a row, passes take a third of the time
 * and each writes what came meanwhile.
 */
export const restAfterPass: Rest = { factor: 2, maxMs: 1_000 }

/** Who selects whom, both ways, without looking at everything there is. */
export class ServicePods {
  readonly #podsByLabel: ObjectIndex<Pod>
  readonly #podsByNode: ObjectIndex<Pod>
  readonly #servicesByTerm: ObjectIndex<Service>

  constructor(pods: ObjectCache<Pod>, services: ObjectCache<Service>) {
    this.#podsByLabel = pods.addIndex(labelTerms)
    this.#podsByNode = pods.addIndex(({ spec }) => (spec.nodeName ? [spec.nodeName] : []))
    this.#servicesByTerm = services.addIndex((service) => selectorTerms(service).slice(0, 1))
  }

  podsOf(service: Service): readonly Pod[] {
    const terms = selectorTerms(service)
    const rarest = terms.toSorted((a, b) => this.#podsByLabel.count(a) - this.#podsByLabel.count(b))[0]
    return rarest === undefined ? [] : this.#podsByLabel.get(rarest).filter((pod) => selects(service, pod))
  }

  /** Keys of the Services that select the pod. */
  servicesOf(pod: Pod): readonly string[] {
    const candidates = [...labelTerms(pod)].flatMap((term) => this.#servicesByTerm.get(term))
    return candidates.filter((service) => selects(service, pod)).map(keyOf)
  }

  /** Keys of the Services with pods on the node. */
  servicesOn(node: Node): readonly string[] {
    return this.#podsByNode.get(node.metadata.name).flatMap((pod) => this.servicesOf(pod))
  }
}

/** An empty selector selects nothing: such a Service's endpoints are written by hand. */
export function hasSelector({ spec }: Service): boolean {
  return Object.keys(spec.selector ?? {}).length > 0 && spec.type !== 'ExternalName'
}

function selectorTerms(service: Service): readonly string[] {
  if (!hasSelector(service)) return []
  const { namespace } = service.metadata
  return Object.entries(service.spec.selector ?? {}).map(([key, value]) => labelTerm(namespace, key, value))
}

function selects({ metadata, spec }: Service, pod: Pod): boolean {
  const { labels, namespace } = pod.metadata
  const selector = spec.selector ?? {}
  if (namespace !== metadata.namespace) return false
  for (const key in selector) if (labels[key] !== selector[key]) return false
  return true
}
