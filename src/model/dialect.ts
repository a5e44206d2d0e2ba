import { type JobNames, jobNames } from './job-names.ts'
import { type NodeLabelRules, nodeLabelRules } from './node-label-rules.ts'
import { type SignerNames, signerNames } from './signer-names.ts'
import { type VolumeNames, volumeNames } from './volume-names.ts'

/** Which vocabulary an API server speaks: the platform's own, or Kubernetes'. */
export type DialectName = 'platform' | 'kubernetes'

/** Every identifier that differs between the two vocabularies. No other file spells these strings. */
export interface Dialect {
  readonly name: DialectName
  /** The value of `--platform-domain`; only the `platform` dialect shows it. */
  readonly domain: string
  readonly groups: {
    readonly networking: string
    readonly discovery: string
    readonly apiextensions: string
    /** Webhook configurations and admission policies. */
    readonly admissionregistration: string
    /** Roles and their bindings. */
    readonly rbac: string
    /** Tokens and who one is. */
    readonly authentication: string
    /** Access reviews. */
    readonly authorization: string
    /** Leases. */
    readonly coordination: string
    readonly events: string
    /** PriorityClasses. */
    readonly scheduling: string
    /** StorageClasses, and what the programs of volumes know of each other. */
    readonly storage: string
    /** CertificateSigningRequests. */
    readonly certificates: string
    /** RuntimeClasses. */
    readonly node: string
    /** NodeMetrics and PodMetrics. */
    readonly metrics: string
  }
  /** The value of the label that names the manager of an IPAddress, for addresses of Services. */
  readonly ipAllocatorName: string
  /** The prefix of the well-known types of Secrets; kubectl knows only Kubernetes' own. */
  readonly wellKnownPrefixes: readonly string[]
  /** The claim of a service account's token that says whose it is. */
  readonly serviceAccountClaim: string
  /**
   * The `iss` of tokens that a token controller writes into Secrets, the prefix of their claims, and the label of a Secret whose token no
   * longer holds; undefined: such tokens are not known.
   */
  readonly storedToken:
    | { readonly issuer: string; readonly claimPrefix: string; readonly invalidSinceLabel: string }
    | undefined
  readonly annotations: {
    /** On an IngressClass, with the value `true`: Ingresses that name no class get this one. */
    readonly defaultIngressClass: string
    /** On an Ingress: its class, as it was named before there was a field. */
    readonly ingressClass: string
    /** On an Ingress: `round-robin` or `least-connections`. */
    readonly ingressBalance: string
    /** On an Ingress: the name of the cookie that keeps a client at one endpoint. */
    readonly ingressStickyCookie: string
    /** On a Node: the addresses on which it serves Ingresses, with commas. */
    readonly ingressAddresses: string
    /** On Endpoints and EndpointSlices: when the newest change they show happened. */
    readonly lastChangeTriggerTime: string
    /** On Endpoints that hold only the first 1000 addresses: `truncated`. */
    readonly overCapacity: string
    /** On Endpoints that old programs elect a leader with: not to be mirrored. */
    readonly electionRecord: string
    /** Annotation of a Pod: its deletion cost; a workload that shrinks deletes the lowest first. */
    readonly podDeletionCost: string
    /** Annotation of a Pod: which requests and limits the LimitRanges of its namespace gave it. */
    readonly limitRanger: string
    /** Annotation of a Pod that only represents a part of the system: no agent starts or ends it. */
    readonly mirrorPod: string
    /** On a Pod: the folder of this node that its containers have as their root. */
    readonly rootFilesystem: string
    /** On a Pod: bits a second that it may get and send, for the network plugin that limits them. */
    readonly ingressBandwidth: string
    readonly egressBandwidth: string
    /** On a Service, in its two names: whether its traffic stays in a zone. */
    readonly topologyHints: string
    readonly topologyMode: string
    /** On a Service, as it was written before there was a field: the networks that its load balancer lets in. */
    readonly loadBalancerSourceRanges: string
  }
  readonly labels: {
    /** On an EndpointSlice: the name of the Service it belongs to. */
    readonly serviceName: string
    readonly managedBy: string
    /** On a Service or EndpointSlice: another proxy than ours serves it. */
    readonly serviceProxyName: string
    /** On an EndpointSlice: its Service has no cluster address. */
    readonly headlessService: string
    readonly hostname: string
    readonly namespaceName: string
    /** On the roles that the server itself made. */
    readonly bootstrapping: string
    /** Annotation of such a role: `"false"` keeps the server from restoring its default rules. */
    readonly autoUpdate: string
    /** On an IPAddress: `IPv4` or `IPv6`. */
    readonly ipFamily: string
    /** On an IPAddress: who made it. */
    readonly ipAddressManagedBy: string
    /** On Endpoints that a controller keeps: `endpoint-controller`. */
    readonly endpointsManagedBy: string
    /** On Endpoints: no slice is to mirror them. */
    readonly skipMirror: string
    /** On a Node: the part of the site that fails together. */
    readonly zone: string
    /** On a Pod of a StatefulSet: its own name, for Services of one pod. */
    readonly statefulSetPodName: string
    /** On a Pod of a StatefulSet: its ordinal. */
    readonly podIndex: string
    /** On a ControllerRevision of a StatefulSet: the hash in its name. */
    readonly revisionHash: string
    readonly operatingSystem: string
    readonly architecture: string
    /** On a Namespace, with the value `true`: nodes that run pods themselves run those of it. */
    readonly runPods: string
    /** Label of a Namespace whose pods may use the host's network or ports. */
    readonly hostNetworkPods: string
  }
  /** The names by which Jobs and CronJobs mark what they make. */
  readonly jobs: JobNames
  /** The names by which volumes and claims are marked. */
  readonly volumes: VolumeNames
  /** The signers of certificate requests that the cluster itself has. */
  readonly signers: SignerNames
  /** Which labels of its own Node a node may set. */
  readonly nodeLabels: NodeLabelRules
  /** Values of `appProtocol` for HTTP/2 without TLS. */
  readonly h2cProtocols: readonly string[]
  /** Values of the label `managedBy`. */
  readonly sliceManagers: {
    readonly selector: string
    readonly mirroring: string
  }
  /** The additions to each Pod that let it act as its ServiceAccount; undefined: a Pod gets only what it asks for. */
  readonly accountAccess: AccountAccess | undefined
  /** Keys of the taints by which a node tells that it is in trouble, or should be left alone. */
  readonly taints: {
    readonly notReady: string
    readonly unreachable: string
    readonly unschedulable: string
    readonly memoryPressure: string
    readonly diskPressure: string
    readonly pidPressure: string
    readonly networkUnavailable: string
  }
}

/** How a Pod gets its ServiceAccount's token, and what else the account decides about it. */
export interface AccountAccess {
  /** The prefix of the name of the volume. */
  readonly volumePrefix: string
  readonly mountPath: string
  /** The ConfigMap of each namespace with the cluster's CA. */
  readonly rootCaConfigMap: string
  /** Annotation of an account: its Pods refer to no other Secrets than it does. */
  readonly enforceMountableSecrets: string
}

/** KEP-3726; charts write it for every cluster. */
const h2cOfKubernetes = 'kubernetes.io/h2c'

function nodeTaints(prefix: string): Dialect['taints'] {
  return {
    notReady: `${prefix}/not-ready`,
    unreachable: `${prefix}/unreachable`,
    unschedulable: `${prefix}/unschedulable`,
    memoryPressure: `${prefix}/memory-pressure`,
    diskPressure: `${prefix}/disk-pressure`,
    pidPressure: `${prefix}/pid-pressure`,
    networkUnavailable: `${prefix}/network-unavailable`,
  }
}

/** How schema keywords that OpenAPI does not have may begin; both are understood in both dialects and given back as they came. */
const schemaExtensionPrefixes = ['x-platform-', 'x-kubernetes-']

/** `preserve-unknown-fields` for `x-platform-preserve-unknown-fields`, undefined for other keywords. */
export function schemaExtension(keyword: string): string | undefined {
  const prefix = schemaExtensionPrefixes.find((each) => keyword.startsWith(each))
  return prefix === undefined ? undefined : keyword.slice(prefix.length)
}

/** `list-type` as this dialect spells it: `x-kubernetes-list-type`. */
export function spellSchemaExtension({ name }: Dialect, extension: string): string {
  return `x-${name}-${extension}`
}

/** On a CustomResourceDefinition that is being deleted, until its instances are gone. */
export function customResourceCleanup({ groups }: Dialect): string {
  return `customresourcecleanup.${groups.apiextensions}`
}

const defaultPlatformDomain = 'platform.internal'

export function createDialect(name: DialectName, platformDomain: string = defaultPlatformDomain): Dialect {
  return name === 'kubernetes' ? kubernetesDialect(platformDomain) : platformDialect(platformDomain)
}

function platformDialect(domain: string): Dialect {
  return {
    name: 'platform',
    domain,
    groups: {
      networking: `networking.${domain}`,
      discovery: `discovery.${domain}`,
      apiextensions: `apiextensions.${domain}`,
      admissionregistration: `admissionregistration.${domain}`,
      rbac: `rbac.authorization.${domain}`,
      authentication: `authentication.${domain}`,
      authorization: `authorization.${domain}`,
      coordination: `coordination.${domain}`,
      events: `events.${domain}`,
      scheduling: `scheduling.${domain}`,
      storage: `storage.${domain}`,
      certificates: `certificates.${domain}`,
      node: `node.${domain}`,
      metrics: `metrics.${domain}`,
    },
    ipAllocatorName: `ipallocator.${domain}`,
    wellKnownPrefixes: [`${domain}/`, 'kubernetes.io/'],
    serviceAccountClaim: domain,
    storedToken: undefined,
    annotations: platformAnnotations(domain),
    labels: platformLabels(domain),
    jobs: jobNames(`batch.${domain}`, domain),
    volumes: volumeNames(domain),
    signers: signerNames(domain),
    nodeLabels: nodeLabelRules(domain),
    h2cProtocols: [`${domain}/h2c`, h2cOfKubernetes],
    sliceManagers: {
      selector: `endpointslice-controller.${domain}`,
      mirroring: `endpointslicemirroring-controller.${domain}`,
    },
    accountAccess: undefined,
    taints: nodeTaints(`node.${domain}`),
  }
}

function platformAnnotations(domain: string): Dialect['annotations'] {
  return {
    defaultIngressClass: `ingressclass.${domain}/is-default-class`,
    ingressClass: `${domain}/ingress.class`,
    ...ingressSettings(domain),
    lastChangeTriggerTime: `endpoints.${domain}/last-change-trigger-time`,
    overCapacity: `endpoints.${domain}/over-capacity`,
    electionRecord: `control-plane.alpha.${domain}/leader`,
    podDeletionCost: `controller.${domain}/pod-deletion-cost`,
    limitRanger: `${domain}/limit-ranger`,
    mirrorPod: `${domain}/config.mirror`,
    rootFilesystem: `pods.${domain}/root-filesystem`,
    ingressBandwidth: `${domain}/ingress-bandwidth`,
    egressBandwidth: `${domain}/egress-bandwidth`,
    topologyHints: `service.${domain}/topology-aware-hints`,
    topologyMode: `service.${domain}/topology-mode`,
    loadBalancerSourceRanges: `service.beta.${domain}/load-balancer-source-ranges`,
  }
}

/** Ours alone, so they keep our name in both dialects. */
function ingressSettings(
  domain: string,
): Pick<Dialect['annotations'], 'ingressBalance' | 'ingressStickyCookie' | 'ingressAddresses'> {
  return {
    ingressBalance: `ingress.${domain}/balance`,
    ingressStickyCookie: `ingress.${domain}/sticky-cookie`,
    ingressAddresses: `ingress.${domain}/addresses`,
  }
}

function platformLabels(domain: string): Dialect['labels'] {
  return {
    serviceName: `${domain}/service-name`,
    managedBy: `endpointslice.${domain}/managed-by`,
    serviceProxyName: `service.${domain}/service-proxy-name`,
    headlessService: `service.${domain}/headless`,
    hostname: `${domain}/hostname`,
    namespaceName: `${domain}/metadata.name`,
    bootstrapping: `${domain}/bootstrapping`,
    autoUpdate: `rbac.authorization.${domain}/autoupdate`,
    ipFamily: `ipaddress.${domain}/ip-family`,
    ipAddressManagedBy: `ipaddress.${domain}/managed-by`,
    endpointsManagedBy: `endpoints.${domain}/managed-by`,
    skipMirror: `endpointslice.${domain}/skip-mirror`,
    zone: `topology.${domain}/zone`,
    statefulSetPodName: `statefulset.${domain}/pod-name`,
    podIndex: `apps.${domain}/pod-index`,
    revisionHash: `controller.${domain}/hash`,
    operatingSystem: `${domain}/os`,
    architecture: `${domain}/arch`,
    runPods: `pods.${domain}/run`,
    hostNetworkPods: `pods.${domain}/host-network`,
  }
}

function kubernetesDialect(domain: string): Dialect {
  return {
    name: 'kubernetes',
    domain,
    groups: {
      networking: 'networking.k8s.io',
      discovery: 'discovery.k8s.io',
      apiextensions: 'apiextensions.k8s.io',
      admissionregistration: 'admissionregistration.k8s.io',
      rbac: 'rbac.authorization.k8s.io',
      authentication: 'authentication.k8s.io',
      authorization: 'authorization.k8s.io',
      coordination: 'coordination.k8s.io',
      events: 'events.k8s.io',
      scheduling: 'scheduling.k8s.io',
      storage: 'storage.k8s.io',
      certificates: 'certificates.k8s.io',
      node: 'node.k8s.io',
      metrics: 'metrics.k8s.io',
    },
    ipAllocatorName: 'ipallocator.k8s.io',
    wellKnownPrefixes: ['kubernetes.io/'],
    serviceAccountClaim: 'kubernetes.io',
    storedToken: {
      issuer: 'kubernetes/serviceaccount',
      claimPrefix: 'kubernetes.io/serviceaccount/',
      invalidSinceLabel: 'kubernetes.io/legacy-token-invalid-since',
    },
    annotations: kubernetesAnnotations(domain),
    labels: kubernetesLabels(domain),
    jobs: jobNames('batch.kubernetes.io', 'kubernetes.io'),
    volumes: volumeNames('kubernetes.io'),
    signers: signerNames('kubernetes.io'),
    nodeLabels: nodeLabelRules(),
    h2cProtocols: [h2cOfKubernetes],
    sliceManagers: {
      selector: 'endpointslice-controller.k8s.io',
      mirroring: 'endpointslicemirroring-controller.k8s.io',
    },
    accountAccess: {
      volumePrefix: 'kube-api-access-',
      mountPath: '/var/run/secrets/kubernetes.io/serviceaccount',
      rootCaConfigMap: 'kube-root-ca.crt',
      enforceMountableSecrets: 'kubernetes.io/enforce-mountable-secrets',
    },
    taints: nodeTaints('node.kubernetes.io'),
  }
}

function kubernetesLabels(domain: string): Dialect['labels'] {
  return {
    serviceName: 'kubernetes.io/service-name',
    managedBy: 'endpointslice.kubernetes.io/managed-by',
    serviceProxyName: 'service.kubernetes.io/service-proxy-name',
    headlessService: 'service.kubernetes.io/headless',
    hostname: 'kubernetes.io/hostname',
    namespaceName: 'kubernetes.io/metadata.name',
    bootstrapping: 'kubernetes.io/bootstrapping',
    autoUpdate: 'rbac.authorization.kubernetes.io/autoupdate',
    ipFamily: 'ipaddress.kubernetes.io/ip-family',
    ipAddressManagedBy: 'ipaddress.kubernetes.io/managed-by',
    endpointsManagedBy: 'endpoints.kubernetes.io/managed-by',
    skipMirror: 'endpointslice.kubernetes.io/skip-mirror',
    zone: 'topology.kubernetes.io/zone',
    statefulSetPodName: 'statefulset.kubernetes.io/pod-name',
    podIndex: 'apps.kubernetes.io/pod-index',
    revisionHash: 'controller.kubernetes.io/hash',
    operatingSystem: 'kubernetes.io/os',
    architecture: 'kubernetes.io/arch',
    // Ours alone, so they keep our name.
    runPods: `pods.${domain}/run`,
    hostNetworkPods: `pods.${domain}/host-network`,
  }
}

function kubernetesAnnotations(domain: string): Dialect['annotations'] {
  return {
    defaultIngressClass: 'ingressclass.kubernetes.io/is-default-class',
    ingressClass: 'kubernetes.io/ingress.class',
    ...ingressSettings(domain),
    lastChangeTriggerTime: 'endpoints.kubernetes.io/last-change-trigger-time',
    overCapacity: 'endpoints.kubernetes.io/over-capacity',
    electionRecord: 'control-plane.alpha.kubernetes.io/leader',
    podDeletionCost: 'controller.kubernetes.io/pod-deletion-cost',
    limitRanger: 'kubernetes.io/limit-ranger',
    mirrorPod: 'kubernetes.io/config.mirror',
    // Ours alone, so it keeps our name.
    rootFilesystem: `pods.${domain}/root-filesystem`,
    ingressBandwidth: 'kubernetes.io/ingress-bandwidth',
    egressBandwidth: 'kubernetes.io/egress-bandwidth',
    topologyHints: 'service.kubernetes.io/topology-aware-hints',
    topologyMode: 'service.kubernetes.io/topology-mode',
    loadBalancerSourceRanges: 'service.beta.kubernetes.io/load-balancer-source-ranges',
  }
}
