import type { ApiObject } from '../../../model/api-object.ts'
import type { Dialect } from '../../../model/dialect.ts'
import { dnsMetricsPort, dnsPort } from '../../../model/dns-ports.ts'
import { type Ip, ipFamily } from '../../../model/ip.ts'

export const kubeDns = { namespace: 'kube-system', name: 'kube-dns' } as const

/** The value of the annotation that marks a mirror Pod as one of this DNS. */
export const dnsMirror = 'platnet-dns'

const labels = { 'k8s-app': 'kube-dns' } as const

/** The labels by which `kubectl cluster-info` finds the Service. */
const serviceLabels = { ...labels, 'kubernetes.io/cluster-service': 'true', 'kubernetes.io/name': 'CoreDNS' } as const

/** The annotations by which usual configurations of Prometheus find its metrics, as in the manifests of CoreDNS. */
const serviceAnnotations = { 'prometheus.io/scrape': 'true', 'prometheus.io/port': String(dnsMetricsPort) } as const

const ports = [
  { name: 'dns', protocol: 'UDP', port: dnsPort, targetPort: dnsPort },
  { name: 'dns-tcp', protocol: 'TCP', port: dnsPort, targetPort: dnsPort },
  { name: 'metrics', protocol: 'TCP', port: dnsMetricsPort, targetPort: dnsMetricsPort },
] as const

/** Describes the cluster DNS as a pod: what NetworkPolicies select where this node answers its address. */
export function clusterDnsPod() {
  const answered = ports.filter(({ port }) => port === dnsPort)
  return {
    namespace: kubeDns.namespace,
    name: kubeDns.name,
    labels,
    ports: answered.map(({ name, protocol, port }) => ({ name, protocol, port })),
  } as const
}

/** Returns the Service of the cluster DNS, to which queries go on a node that does not answer them itself. */
export function kubeDnsService(addresses: readonly Ip[]): ApiObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: kubeDns.name, labels: serviceLabels, annotations: serviceAnnotations },
    spec: {
      type: 'ClusterIP',
      clusterIP: addresses[0],
      clusterIPs: [...addresses],
      ipFamilies: addresses.map(ipFamily),
      ipFamilyPolicy: addresses.length > 1 ? 'RequireDualStack' : 'SingleStack',
      selector: labels,
      ports,
    },
  }
}

/** Describes how an existing Service differs from what this node serves; empty where it does not. */
export function differencesOf(
  spec: {
    readonly clusterIP?: string | undefined
    readonly ports: readonly { readonly port: number; readonly protocol: string }[]
    readonly selector: Readonly<Record<string, string>>
  },
  addresses: readonly Ip[],
): readonly string[] {
  const missing = ports.filter(
    ({ port, protocol }) => !spec.ports.some((one) => one.port === port && one.protocol === protocol),
  )
  return [
    ...(spec.clusterIP === addresses[0] ? [] : [`its address is ${spec.clusterIP ?? 'none'}, not ${addresses[0]}`]),
    ...missing.map(({ port, protocol }) => `it has no port ${port}/${protocol}`),
    ...(spec.selector['k8s-app'] === labels['k8s-app'] ? [] : ['it does not select k8s-app=kube-dns']),
  ]
}

const mirrorContainer = { name: 'dns', image: 'platnet' } as const

export interface MirrorTimes {
  readonly now: string
  /** When this DNS started. */
  readonly startedAt: string
}

export interface MirrorFacts {
  readonly nodeName: string
  /** Undefined while the node has none. */
  readonly address: Ip | undefined
}

export function mirrorPodName({ nodeName }: MirrorFacts): string {
  return `platnet-dns-${nodeName}`
}

/**
 * Returns the Pod that makes this node's DNS an endpoint of the Service. Nothing runs it. A node may create it only with its own Node as the
 * owner, whose uid this is: the Pod is deleted with the Node.
 */
export function mirrorPod(facts: MirrorFacts, nodeUid: string, dialect: Dialect): ApiObject {
  const annotations = { [dialect.annotations.mirrorPod]: dnsMirror }
  const owner = { apiVersion: 'v1', kind: 'Node', name: facts.nodeName, uid: nodeUid, controller: true }
  const metadata = { name: mirrorPodName(facts), labels, annotations, ownerReferences: [owner] }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata,
    spec: {
      nodeName: facts.nodeName,
      hostNetwork: true,
      dnsPolicy: 'Default',
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          ...mirrorContainer,
          ports: ports.map(({ name, protocol, port }) => ({ name, protocol, containerPort: port })),
        },
      ],
      tolerations: [{ operator: 'Exists' }],
    },
  }
}

/** Returns the status of the Pod; `ready` makes it an endpoint. Times are in RFC 3339. */
export function mirrorStatus(address: Ip, ready: boolean, { now, startedAt }: MirrorTimes) {
  const status = ready ? 'True' : 'False'
  const condition = (type: string) => ({ type, status, lastTransitionTime: now })
  return {
    phase: 'Running',
    hostIP: address,
    podIP: address,
    podIPs: [{ ip: address }],
    startTime: startedAt,
    conditions: [
      condition('Ready'),
      condition('ContainersReady'),
      ...['Initialized', 'PodScheduled'].map((type) => ({ ...condition(type), status: 'True' })),
    ],
    containerStatuses: [
      {
        name: mirrorContainer.name,
        image: mirrorContainer.image,
        imageID: '',
        ready,
        started: true,
        restartCount: 0,
        state: { running: { startedAt } },
      },
    ],
  }
}
