import type { Dialect } from '../model/dialect.ts'
import type { PortRange } from './allocation/pools.ts'
import { createServiceAllocator } from './allocation/service-allocator.ts'
import { guardIpAddress, guardServiceCidr } from './allocation/service-ranges.ts'
import { customResourceDefinitions } from './custom/custom-resource-definitions.ts'
import { admissionPolicies } from './resources/admission/admission-policies.ts'
import { webhookConfigurations } from './resources/admission/webhook-configurations.ts'
import { cronJobs } from './resources/batch/cron-jobs.ts'
import { jobs } from './resources/batch/jobs.ts'
import { signingRequests } from './resources/certificates/signing-requests.ts'
import { configMaps } from './resources/config-maps.ts'
import { csiNodes } from './resources/csi-nodes.ts'
import { disruptionBudgets } from './resources/disruption-budgets.ts'
import { endpointSlices } from './resources/endpoint-slices.ts'
import { endpoints } from './resources/endpoints.ts'
import { coreEvents, groupEvents } from './resources/events.ts'
import { horizontalPodAutoscalers } from './resources/horizontal-pod-autoscalers.ts'
import { ingressClasses } from './resources/ingress-classes.ts'
import { ingresses } from './resources/ingresses.ts'
import { ipAddresses } from './resources/ip-addresses.ts'
import { leases } from './resources/leases.ts'
import { limitRanges } from './resources/limit-ranges.ts'
import { namespaces } from './resources/namespaces.ts'
import { networkPolicies } from './resources/network-policies.ts'
import { nodes } from './resources/nodes.ts'
import { createPodAdmission, createResizeAdmission, createResizeGuard } from './resources/pod-admission.ts'
import { podTemplates } from './resources/pod-templates.ts'
import { pods } from './resources/pods.ts'
import { priorityClasses } from './resources/priority-classes.ts'
import { Registry } from './resources/registry.ts'
import { replicationControllers } from './resources/replication-controllers.ts'
import type { Resource } from './resources/resource.ts'
import { resourceQuotas } from './resources/resource-quotas.ts'
import { roles } from './resources/roles.ts'
import { runtimeClasses } from './resources/runtime-classes.ts'
import { secrets } from './resources/secrets.ts'
import { serviceAccounts } from './resources/service-accounts.ts'
import { serviceCidrs } from './resources/service-cidrs.ts'
import { services } from './resources/services.ts'
import { type ReadUsage, usageKinds } from './resources/usage-kinds.ts'
import { csiKinds } from './resources/volumes/csi-kinds.ts'
import { persistentVolumes } from './resources/volumes/persistent-volumes.ts'
import { storageClasses } from './resources/volumes/storage-classes.ts'
import { volumeAttachments } from './resources/volumes/volume-attachments.ts'
import { volumeClaims } from './resources/volumes/volume-claims.ts'
import { workloads } from './resources/workloads.ts'
import type { Store } from './store/index.ts'

export interface BuiltInOptions {
  readonly store: Store
  readonly dialect: Dialect
  readonly nodePortRange: PortRange
  /** Whether ServiceAccount admission applies to new Pods, where the dialect has it. */
  readonly admitsAccounts: boolean
  /** Whether admission gives new Pods tolerations for nodes in trouble, where the dialect has it. */
  readonly addsTolerations: boolean
  /** Whether the server empties deleted namespaces, because no namespace controller runs. */
  readonly sweepsNamespaces: boolean
  /** Returns what nodes and pods use; absent: the kinds of metrics.k8s.io are not served. */
  readonly readUsage?: ReadUsage | undefined
  readonly now: () => Date
  readonly newUid: () => string
}

export function createRegistry(options: BuiltInOptions): Registry {
  const { store, dialect, now } = options
  const { networking } = dialect.groups
  const registry = new Registry()
  const rbac = roles(dialect)
  const forPrograms = dialect.name === 'kubernetes' ? kubernetesKinds(options) : []
  const namespaced = [
    ...forPrograms.filter((resource) => resource.namespaced),
    pods(dialect, {
      admit: createPodAdmission(options),
      admitResize: createResizeAdmission(options),
      guard: createResizeGuard(store),
    }),
    services(dialect, createServiceAllocator(store, options)),
    endpoints(dialect.name),
    endpointSlices(dialect),
    configMaps(),
    secrets(dialect),
    limitRanges(),
    resourceQuotas(),
    volumeClaims(dialect, store),
    coreEvents(),
    groupEvents(dialect),
    serviceAccounts(dialect),
    leases(dialect),
    networkPolicies(dialect),
    ingresses(dialect, store),
    ...workloads(),
    replicationControllers(),
    podTemplates(),
    jobs(dialect.jobs),
    cronJobs(),
    disruptionBudgets(),
    ...horizontalPodAutoscalers(),
    ...rbac.filter((resource) => resource.namespaced),
  ]
  const clusterWide = [
    nodes(),
    ingressClasses(dialect),
    priorityClasses(dialect, store),
    persistentVolumes(dialect, now),
    storageClasses(dialect),
    ...forPrograms.filter((resource) => !resource.namespaced),
    customResourceDefinitions(dialect, store, now),
    ...serviceCidrs(dialect, now, guardServiceCidr(store, networking)),
    ...ipAddresses(dialect, guardIpAddress(store, networking)),
    ...rbac.filter((resource) => !resource.namespaced),
  ]
  const computed = options.readUsage === undefined ? [] : usageKinds(dialect, store, options.readUsage)
  const contents = () => registry.all().filter((resource) => resource.namespaced && resource.computed === undefined)
  const all = [
    namespaces({ ...options, sweeps: options.sweepsNamespaces, contents }),
    ...clusterWide,
    ...namespaced,
    ...computed,
  ]
  for (const resource of all) registry.add(resource)
  return registry
}

/** The kinds whose clients are kubelets and programs of Kubernetes, which know no other dialect. */
function kubernetesKinds({ dialect, now }: BuiltInOptions): readonly Resource[] {
  return [
    csiNodes(dialect),
    ...csiKinds(dialect),
    volumeAttachments(dialect),
    signingRequests(dialect, now),
    runtimeClasses(dialect),
    ...admissionPolicies(dialect),
    ...webhookConfigurations(dialect),
  ]
}
