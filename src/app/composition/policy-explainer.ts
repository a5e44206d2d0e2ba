import { localAddresses } from '../../host/index.ts'
import type { ObjectKey } from '../../model/api-object.ts'
import type { Ip } from '../../model/ip.ts'
import type { PolicyCluster, PolicyPod } from '../../model/network-policy.ts'
import type { Protocol } from '../../model/service.ts'
import { explainPolicy, PolicyEvaluator, type PolicyExplanation } from '../../node/policy/index.ts'

/** A flow after DNAT. */
export interface AddressFlow {
  readonly source: Ip
  readonly destination: Ip
  readonly protocol: Protocol
  readonly port: number
}

/** The network policies that this node knows, as `platnet explain` asks them. */
export interface PolicyExplainer {
  /** Judges by the objects of now, one explanation for each flow. */
  explain(flows: readonly AddressFlow[]): readonly PolicyExplanation[]
  /** The addresses of a pod; undefined for a pod that this node does not know. */
  ipsOf(pod: ObjectKey): readonly Ip[] | undefined
  /** The reason why this node does not enforce the policies; undefined if it does. */
  caveat(): string | undefined
}

interface KnownCluster extends PolicyCluster {
  pod(key: ObjectKey): PolicyPod | undefined
  podAt(address: Ip): PolicyPod | undefined
}

export function createPolicyExplainer(state: KnownCluster, caveat: () => string | undefined): PolicyExplainer {
  return {
    caveat,
    ipsOf: (pod) => state.pod(pod)?.ips,
    explain: (flows) => {
      const own = localAddresses()
      const evaluator = new PolicyEvaluator(state, {
        judges: 'this-node',
        isNodeAddress: (address) => own.has(address),
        podAt: (address) => state.podAt(address),
      })
      return flows.map(({ source, destination, protocol, port }) =>
        explainPolicy(evaluator, {
          source: { address: source },
          destination: { address: destination },
          protocol,
          port,
        }),
      )
    },
  }
}
