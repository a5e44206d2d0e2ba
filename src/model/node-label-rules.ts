/** A label's domain is what stands before its slash; a domain includes its subdomains. */
export interface NodeLabelRules {
  /** A node sets no label of these domains unless `ownKeys` or `ownDomains` has it. */
  readonly reservedDomains: readonly string[]
  /** A node never sets a label of these domains: operators isolate nodes with them. */
  readonly isolationDomains: readonly string[]
  readonly ownKeys: readonly string[]
  readonly ownDomains: readonly string[]
}

const kubernetesDomain = 'kubernetes.io'

/** The allow-list of Kubernetes' NodeRestriction, under Kubernetes' domain and the dialect's own. */
export function nodeLabelRules(...own: readonly string[]): NodeLabelRules {
  const domains = [...new Set([kubernetesDomain, ...own])]
  const keys = ['hostname', 'os', 'arch']
  const beta = ['os', 'arch', 'instance-type'].map((key) => `beta.${kubernetesDomain}/${key}`)
  const places = ['zone', 'region']
  return {
    reservedDomains: [...domains, 'k8s.io'],
    isolationDomains: domains.map((domain) => `node-restriction.${domain}`),
    ownKeys: [
      ...domains.flatMap((domain) => keys.map((key) => `${domain}/${key}`)),
      ...domains.flatMap((domain) => places.map((key) => `topology.${domain}/${key}`)),
      ...places.map((key) => `failure-domain.beta.${kubernetesDomain}/${key}`),
      ...beta,
    ],
    ownDomains: domains.flatMap((domain) => [`kubelet.${domain}`, `node.${domain}`]),
  }
}
