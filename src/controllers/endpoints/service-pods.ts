import type { Node } from '../objects/node.ts'
import { nodeNameOf, type Pod } from '../objects/pod.ts'
import type { Service } from '../objects/service.ts'
import type { ObjectCache } from '../runtime/object-cache.ts'
import { labelTerm, labelTerms, type ObjectIndex } from '../runtime/object-index.ts'
import { keyOf } from '../runtime/resource-type.ts'
import type { SelectorIndex } from '../runtime/selector-index.ts'

/** Finds the pods of a Service and the Services of a pod by index, without a scan of all objects. */
export class ServicePods {
  readonly #pods: ObjectCache<Pod>
  readonly #podsByLabel: ObjectIndex<Pod>
  readonly #podsByNode: ObjectIndex<Pod>
  readonly #servicesBySelector: SelectorIndex<Service>

  constructor(pods: ObjectCache<Pod>, services: ObjectCache<Service>) {
    this.#pods = pods
    this.#podsByLabel = pods.addIndex(labelTerms)
    this.#podsByNode = pods.addIndex(nodeNameOf)
    this.#servicesBySelector = services.addSelectorIndex(selectorOf)
  }

  podsOf(service: Service): readonly Pod[] {
    const { namespace } = service.metadata
    const selector = Object.entries(selectorOf(service) ?? {})
    const rarest = this.#podsByLabel.rarest(selector.map(([key, value]) => labelTerm(namespace, key, value)))
    if (rarest === undefined) return []
    const pods = this.#podsByLabel.get(rarest)
    return selector.length === 1 ? pods : pods.filter((pod) => selects(service, pod))
  }

  /** Returns the pod with that key if the Service selects it. */
  selectedPod(service: Service, key: string): Pod | undefined {
    const pod = this.#pods.get(key)
    return pod !== undefined && selects(service, pod) ? pod : undefined
  }

  /** Returns the keys of the Services that select the pod. */
  servicesOf({ metadata }: Pod): readonly string[] {
    return this.#servicesBySelector.matching(metadata.namespace, metadata.labels).map(keyOf)
  }

  /** Returns the keys of the Services with pods on the node. */
  servicesOn(node: Node): readonly string[] {
    return this.#podsByNode.get(node.metadata.name).flatMap((pod) => this.servicesOf(pod))
  }
}

/** Checks whether the Service has a selector. An empty one selects nothing: users write such a Service's endpoints by hand. */
export function hasSelector(service: Service): boolean {
  return selectorOf(service) !== undefined
}

function selectorOf({ spec }: Service): Readonly<Record<string, string>> | undefined {
  const selector = spec.selector ?? {}
  return Object.keys(selector).length > 0 && spec.type !== 'ExternalName' ? selector : undefined
}

function selects({ metadata, spec }: Service, pod: Pod): boolean {
  const { labels, namespace } = pod.metadata
  const selector = spec.selector ?? {}
  if (namespace !== metadata.namespace) return false
  for (const key in selector) if (labels[key] !== selector[key]) return false
  return true
}
