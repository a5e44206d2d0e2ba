import type { NetworkPolicy, PolicyPeer, PolicyPort, PolicyRule } from '../../src/model/network-policy.ts'
import type { LabelSelector } from '../../src/model/selector.ts'

const operators = { in: 'In', notin: 'NotIn', exists: 'Exists', absent: 'DoesNotExist', gt: 'Gt', lt: 'Lt' } as const

/** The NetworkPolicy as an API object has it, of no dialect. */
export function toPolicyObject({ namespace, name, podSelector, ingress, egress }: NetworkPolicy) {
  const types = [...(ingress ? ['Ingress'] : []), ...(egress ? ['Egress'] : [])]
  return {
    metadata: { namespace, name },
    spec: {
      podSelector: toSelector(podSelector),
      policyTypes: types,
      ...(ingress && { ingress: ingress.map((rule) => toRule(rule, 'from')) }),
      ...(egress && { egress: egress.map((rule) => toRule(rule, 'to')) }),
    },
  }
}

function toSelector(selector: LabelSelector) {
  return {
    matchExpressions: selector.map(({ key, operator, values }) => ({ key, operator: operators[operator], values })),
  }
}

function toRule({ peers, ports }: PolicyRule, peerField: 'from' | 'to') {
  return { ...(peers && { [peerField]: peers.map(toPeer) }), ...(ports && { ports: ports.map(toPort) }) }
}

function toPeer(peer: PolicyPeer) {
  if (peer.kind === 'ip-block') return { ipBlock: { cidr: peer.cidr, except: peer.except } }
  const { namespaces, pods } = peer
  return { podSelector: toSelector(pods), ...(namespaces && { namespaceSelector: toSelector(namespaces) }) }
}

function toPort(port: PolicyPort) {
  const { protocol } = port
  if (port.kind === 'protocol') return { protocol }
  return port.kind === 'name' ? { protocol, port: port.name } : { protocol, port: port.first, endPort: port.last }
}
