import type { FlowEnds } from '../../host/index.ts'
import type { Ip } from '../../model/ip.ts'
import type { PolicyCluster, PolicyPod } from '../../model/network-policy.ts'
import type { Protocol } from '../../model/service.ts'
import { PolicyEvaluator } from './evaluate.ts'

/** Tells whether the policies allow connections between two ends, also true for those that they do not judge. */
export type FlowJudge = (flow: FlowEnds) => boolean

/** Numbers of IANA. */
const protocols: ReadonlyMap<number, Protocol> = new Map([
  [6, 'TCP'],
  [17, 'UDP'],
  [132, 'SCTP'],
])

/** Judges tracked connections as the rules of this node do. It remembers what it has read: after a change of the cluster, make a new one. */
export function createFlowJudge(
  cluster: PolicyCluster & { podAt(address: Ip): PolicyPod | undefined },
  isNodeAddress: (address: Ip) => boolean,
): FlowJudge {
  const podAt = (address: Ip) => cluster.podAt(address)
  const evaluator = new PolicyEvaluator(cluster, { judges: 'this-node', isNodeAddress, podAt })
  return ({ protocol: number, source, replySource, replySourcePort }) => {
    const protocol = protocols.get(number)
    const service =
      protocol === undefined ? ({ protocol: 'other', port: 0 } as const) : { protocol, port: replySourcePort }
    return evaluator.allows({ source: { address: source }, destination: { address: replySource }, ...service })
  }
}
