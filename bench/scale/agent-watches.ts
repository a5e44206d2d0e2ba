/** One watch of an agent, and how many objects it begins with. */
export interface AgentWatch {
  readonly path: string
  readonly holds: 'services' | 'slices' | 'nodes' | 'node' | 'namespaces' | 'ranges' | 'nothing'
}

const core = '/api/v1'

/**
 * What `platnet agent` watches with its defaults, beside a kubelet or with pods of its own: the proxy, DNS, policy,
 * routes and Ingress each have what they need. `GET /metrics` of a server with one agent shows these watches.
 */
export function agentWatches(node: string): readonly AgentWatch[] {
  const networking = '/apis/networking.k8s.io/v1'
  return [
    { path: `${core}/services`, holds: 'services' },
    { path: '/apis/discovery.k8s.io/v1/endpointslices', holds: 'slices' },
    { path: `${core}/endpoints`, holds: 'nothing' },
    { path: `${networking}/servicecidrs`, holds: 'ranges' },
    { path: `${core}/namespaces`, holds: 'namespaces' },
    { path: `${core}/nodes`, holds: 'nodes' },
    { path: `${core}/nodes?fieldSelector=metadata.name%3D${node}`, holds: 'node' },
    { path: `${core}/namespaces/kube-system/configmaps?fieldSelector=metadata.name%3Dcoredns`, holds: 'nothing' },
    { path: `${networking}/networkpolicies`, holds: 'nothing' },
    { path: `${core}/pods?fieldSelector=spec.nodeName%3D${node}`, holds: 'nothing' },
    { path: `${networking}/ingresses`, holds: 'nothing' },
    { path: `${networking}/ingressclasses`, holds: 'nothing' },
  ]
}
