import type { Json } from '../../../model/api-object.ts'
import { parseQuantity } from '../../../model/quantity.ts'
import { listAt, textAt, valueAt } from '../../document.ts'

type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort'

const counted = ['cpu', 'memory'] as const

/**
 * Returns the QoS class, by which a node chooses the Pods to evict first. Guaranteed: every container has limits for
 * CPU and memory and equal requests. BestEffort: no container has requests or limits. Resources of the Pod itself count
 * instead of those of its containers.
 */
export function qosClassOf(spec: Json | undefined): QosClass {
  const owners =
    valueAt(spec, 'resources') === undefined
      ? [...listAt(spec, 'containers'), ...listAt(spec, 'initContainers')]
      : [spec]
  const amounts = owners.map((owner) => ({
    requests: amountsOf(owner, 'requests'),
    limits: amountsOf(owner, 'limits'),
  }))
  const isNothing = amounts.every(({ requests, limits }) => requests.length === 0 && limits.length === 0)
  if (isNothing) return 'BestEffort'
  const isGuaranteed = amounts.every(({ requests, limits }) => {
    return limits.length === counted.length && requests.length === limits.length && requests.join() === limits.join()
  })
  return isGuaranteed ? 'Guaranteed' : 'Burstable'
}

/** Returns the amounts of CPU and memory above zero, by name. Validation reports a text that is no quantity. */
function amountsOf(owner: Json | undefined, kind: 'requests' | 'limits'): readonly string[] {
  return counted.flatMap((name) => {
    const amount = readAmount(textAt(owner, 'resources', kind, name))
    return amount > 0n ? [`${name}=${amount}`] : []
  })
}

function readAmount(text: string): bigint {
  try {
    return text === '' ? 0n : parseQuantity(text)
  } catch {
    return 0n
  }
}
