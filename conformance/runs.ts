/** One run of Kubernetes' end-to-end suite: which cluster it is asked of, and which of its tests. */
export interface ConformanceRun {
  readonly what: string
  /** `undefined`: `platnet server` alone, for tests that run no container. */
  readonly cluster: Cluster | undefined
  /** Regular expressions (Go's) over the full names of tests. */
  readonly focus: string
  readonly skip: string
  /** The run whose outcomes stand beside those of this one: the peers in the same set-up. */
  readonly peer?: string
}

interface Cluster {
  readonly control: 'kubernetes' | 'platnet'
  readonly plane: 'platnet' | 'kube'
  readonly nodes: 1 | 2
  readonly agentOptions?: string
  /** Whether claims get volumes: a default storage class and its provisioner. */
  readonly hasStorage?: boolean
}

/** Tests that no cluster here can run, whatever serves it. */
const notHere = [
  'Feature:(LoadBalancer|Networking-IPv6|Networking-DNS|IPv6DualStack|SCTP|NetworkPolicy|PerformanceDNS|NoSNAT|Ingress|Example)',
  'Feature:(GPU|Recreate|RuntimeHandler|Volumes|vsphere|UserNamespaces|BootstrapTokens|StandaloneMode)',
  'FeatureGate:.*(Alpha|Beta)',
  'requires? (at least )?(3|three) nodes',
  'cluster from (the )?internet',
  'Disruptive|Serial.*reboot|Windows|sig-windows|Flaky',
].join('|')

const network = String.raw`\[sig-network\]`
const network2 = { focus: network, skip: notHere }

/** Tests of admission webhooks have a run of their own; conversion webhooks and aggregation are not served (docs/differences.md). */
const noWebhooks = 'webhook|Webhook|Aggregator|aggregat|CustomResourceFieldSelectors'

/** The tests of kinds that `platnet server` does not serve, with the reason in docs/differences.md. */
const notServed = [
  'API priority and fairness',
  // Reads /apis/apiregistration.k8s.io/v1.
  'locate the groupVersion and a resource within each APIGroup',
].join('|')

/** Waits ten minutes for a continue token to expire; here it stays good for the newest 10,000 revisions. */
const longHistory = 'continue listing from the last key if the original version has been compacted away'

/** Beyond Conformance: tests of other images, clouds, zones, upgrades, of kinds that are not served, or of many minutes. */
const beyondReach = [
  String.raw`\[Conformance\]`,
  'private image|cloud load-balancer|Feature:(StatefulUpgrade|BoundServiceAccountTokenVolume)',
  'v1alpha1|v1beta1|Slow',
].join('|')

/** Tests of the API that wait for a running container or for two nodes. */
const needContainers = [
  'all pods are removed when a namespace is deleted',
  'should mount (an API token|projected service account token)',
  'OIDC discovery of service account issuer',
  'namespace deletion should delete pod first',
  'at least two untainted nodes',
  'should not be blocked by dependency circle',
].join('|')

export const runs: Readonly<Record<string, ConformanceRun>> = {
  beside: {
    what: 'two kubelets, Kubernetes as control plane, Platnet in place of kube-proxy, CoreDNS and a policy agent',
    cluster: { control: 'kubernetes', plane: 'platnet', nodes: 2 },
    ...network2,
    peer: 'peers',
  },
  'beside-nftables': {
    what: 'beside, with the proxy in its mode nftables',
    cluster: { control: 'kubernetes', plane: 'platnet', nodes: 2, agentOptions: '--proxy-mode nftables' },
    ...network2,
    peer: 'peers',
  },
  peers: {
    what: 'two kubelets, Kubernetes as control plane, kube-proxy and CoreDNS',
    cluster: { control: 'kubernetes', plane: 'kube', nodes: 2 },
    ...network2,
  },
  kubelet: {
    what: 'a kubelet against `platnet server`, with `platnet agent` beside it',
    cluster: { control: 'platnet', plane: 'platnet', nodes: 1 },
    focus: String.raw`\[sig-(network|apps|auth|cli|scheduling|instrumentation)\].*\[Conformance\]`,
    skip: `${notHere}|${noWebhooks}`,
  },
  volumes: {
    what: 'kubelet, with the tests of volumes that need no driver, StatefulSets, and containers that join a pod or grow',
    cluster: { control: 'platnet', plane: 'platnet', nodes: 1, hasStorage: true },
    focus: [
      String.raw`\[sig-storage\].*\[Conformance\]`,
      String.raw`\[sig-apps\] StatefulSet`,
      String.raw`\[sig-storage\] (PVC Protection|PV Protection|Persistent Volume Claim|PersistentVolumes-local.*dir\])`,
      String.raw`\[sig-node\] (Ephemeral Containers|Pod InPlace Resize)`,
    ].join('|'),
    skip: `${notHere}|CSI|Serial|Slow`,
  },
  beyond: {
    what: 'two kubelets against `platnet server`, with the tests of apps, auth, cli and scheduling that are not of Conformance',
    cluster: { control: 'platnet', plane: 'platnet', nodes: 2, hasStorage: true },
    focus: String.raw`\[sig-(apps|auth|cli)\]|\[sig-scheduling\] Scheduler`,
    skip: `${notHere}|${noWebhooks}|${beyondReach}|StatefulSet`,
  },
  webhooks: {
    what: 'kubelet, with the tests of admission webhooks and policies, whose webhook is a pod',
    cluster: { control: 'platnet', plane: 'platnet', nodes: 1 },
    focus: String.raw`\[sig-api-machinery\] (AdmissionWebhook|ValidatingAdmissionPolicy)`,
    skip: notHere,
  },
  api: {
    what: '`platnet server` alone: tests that run no container',
    cluster: undefined,
    focus: [
      String.raw`\[sig-(api-machinery|auth|instrumentation|architecture)\].*\[Conformance\]`,
      String.raw`(API operations|PodTemplates|RuntimeClass).*\[Conformance\]`,
    ].join('|'),
    skip: `${notHere}|${noWebhooks}|${notServed}|${longHistory}|${needContainers}`,
  },
  short: {
    what: 'a short choice of beside: one test each of Services, DNS, EndpointSlices, affinity and host ports',
    cluster: { control: 'kubernetes', plane: 'platnet', nodes: 1 },
    focus: [
      'should serve a basic endpoint from pods',
      'should have session affinity work for service with type clusterIP',
      'should be able to change the type from ExternalName to NodePort',
      'should provide DNS for services',
      'should create Endpoints and EndpointSlices for Pods matching a Service',
      'should function for intra-pod communication: udp',
    ].join('|'),
    skip: `${notHere}|Linux.*LinuxOnly.*transition`,
  },
}
