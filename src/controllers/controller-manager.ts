import { type ApiClient, ApiEventRecorder } from '../client/index.ts'
import type { Component } from '../loop/component.ts'
import type { Dialect, DialectName } from '../model/dialect.ts'
import type { Cidr } from '../model/ip.ts'
import type { Logger } from '../observe/index.ts'
import { createAddressRepairController } from './addresses/address-repair-controller.ts'
import { createServiceCidrController } from './addresses/service-cidr-controller.ts'
import type { AutoscalingSettings } from './autoscaling/autoscaler.ts'
import { createAutoscalingController } from './autoscaling/autoscaling-controller.ts'
import { createApprovingController } from './certificates/approving-controller.ts'
import { createCleaningController } from './certificates/cleaning-controller.ts'
import { createSigningController, type SigningSettings } from './certificates/signing-controller.ts'
import type { ControllerContext } from './context.ts'
import { type ControllerName, controllerNames } from './controller-names.ts'
import { createDisruptionController } from './disruption/disruption-controller.ts'
import {
  createEndpointSliceController,
  createEndpointsController,
  createMirroringController,
} from './endpoints/index.ts'
import { createEventTtlController } from './events/event-ttl-controller.ts'
import { GarbageCollector } from './garbage/garbage-collector.ts'
import { createIngressStatusController } from './ingress/ingress-status-controller.ts'
import { createNamespaceController } from './namespaces/namespace-controller.ts'
import { createRootCaController } from './namespaces/root-ca-controller.ts'
import { createServiceAccountController } from './namespaces/service-account-controller.ts'
import { createNodeLifecycleController } from './nodes/lifecycle-controller.ts'
import { createPodCidrController } from './nodes/pod-cidr-controller.ts'
import { createDialectTypes } from './objects/types.ts'
import { createQuotaController } from './quota/quota-controller.ts'
import { Caches } from './runtime/caches.ts'
import { timingOfLease } from './runtime/leader-election.ts'
import { ApiLeaseLock } from './runtime/lease-lock.ts'
import { ControllerManager } from './runtime/manager.ts'
import type { ControllerMetrics } from './runtime/metrics.ts'
import { createScheduler } from './scheduler/scheduler.ts'
import { createVolumeBinder } from './volumes/binder.ts'
import { createEphemeralVolumeController } from './volumes/ephemeral-controller.ts'
import { createAttributesClassProtection, createClaimProtection, createVolumeProtection } from './volumes/protection.ts'
import {
  createDaemonSetController,
  createDeploymentController,
  createReplicaSetController,
  createReplicationController,
  createStatefulSetController,
} from './workloads/controllers.ts'
import { createCronJobController } from './workloads/cron-job/cron-job-controller.ts'
import { createJobController } from './workloads/job/job-controller.ts'
import { createJobTtlController } from './workloads/job/ttl-controller.ts'

interface Factory {
  /** The source component of its Events, as Kubernetes names it: users filter by it. */
  readonly source: string
  /** The dialect that serves what the controller works on; absent: both. */
  readonly dialect?: DialectName
  readonly create: (context: ControllerContext, settings: ControllerSettings) => Component
}

/** The factory of each controller. */
const factories: Readonly<Record<ControllerName, Factory>> = {
  endpoints: { source: 'endpoint-controller', create: createEndpointsController },
  endpointslice: { source: 'endpoint-slice-controller', create: createEndpointSliceController },
  'endpointslice-mirroring': { source: 'endpoint-slice-mirroring-controller', create: createMirroringController },
  replicaset: { source: 'replicaset-controller', create: createReplicaSetController },
  replicationcontroller: { source: 'replication-controller', create: createReplicationController },
  deployment: { source: 'deployment-controller', create: createDeploymentController },
  statefulset: { source: 'statefulset-controller', create: createStatefulSetController },
  daemonset: { source: 'daemonset-controller', create: createDaemonSetController },
  job: { source: 'job-controller', create: createJobController },
  'ttl-after-finished': { source: 'ttl-after-finished-controller', create: createJobTtlController },
  disruption: { source: 'controllermanager', create: createDisruptionController },
  resourcequota: { source: 'resourcequota-controller', create: createQuotaController },
  cronjob: { source: 'cronjob-controller', create: createCronJobController },
  'garbage-collector': {
    source: 'garbage-collector-controller',
    create: (context) => new GarbageCollector(context),
  },
  servicecidr: { source: 'service-cidr-controller', create: createServiceCidrController },
  'service-addresses': { source: 'ipallocator-repair-controller', create: createAddressRepairController },
  namespace: { source: 'namespace-controller', create: createNamespaceController },
  serviceaccount: { source: 'serviceaccount-controller', create: createServiceAccountController },
  'root-ca-certificate-publisher': {
    source: 'root-ca-certificate-publisher-controller',
    create: (context, { rootCaPem }) => createRootCaController(context, rootCaPem),
  },
  'event-ttl': {
    source: 'event-ttl-controller',
    create: (context, { eventTtlMs }) => createEventTtlController(context, eventTtlMs),
  },
  nodeipam: {
    source: 'cidrAllocator',
    create: (context, { clusterCidrs }) => createPodCidrController(context, clusterCidrs),
  },
  horizontalpodautoscaling: {
    source: 'horizontal-pod-autoscaler',
    create: (context, { autoscaling }) => createAutoscalingController(context, autoscaling),
  },
  nodelifecycle: {
    source: 'node-controller',
    create: (context, { nodeGraceMs }) => createNodeLifecycleController(context, nodeGraceMs),
  },
  'ingress-status': { source: 'ingress-status-controller', create: createIngressStatusController },
  csrapproving: {
    source: 'certificate-approving-controller',
    dialect: 'kubernetes',
    create: (context, { signing }) => createApprovingController(context, signing.signer),
  },
  csrsigning: {
    source: 'certificate-signing-controller',
    dialect: 'kubernetes',
    create: (context, { signing }) => createSigningController(context, signing),
  },
  csrcleaner: {
    source: 'certificate-cleaning-controller',
    dialect: 'kubernetes',
    create: createCleaningController,
  },
  'persistentvolume-binder': { source: 'persistentvolume-controller', create: createVolumeBinder },
  'persistentvolumeclaim-protection': { source: 'pvc-protection-controller', create: createClaimProtection },
  'persistentvolume-protection': { source: 'pv-protection-controller', create: createVolumeProtection },
  'volumeattributesclass-protection': {
    source: 'vac-protection-controller',
    dialect: 'kubernetes',
    create: createAttributesClassProtection,
  },
  'ephemeral-volume': { source: 'ephemeral-volume-controller', create: createEphemeralVolumeController },
}

/** The settings of the controllers beside their client. */
interface ControllerSettings {
  /** The pod networks of the cluster, at most one of each family; every node gets its part of each. */
  readonly clusterCidrs: readonly Cidr[]
  /** How long a node may go without a heartbeat before it counts as lost, read at each check. */
  readonly nodeGraceMs: () => number
  /** The certificate of the cluster's CA, by which Pods verify the API server. */
  readonly rootCaPem: string
  /** How long an Event stays after its last occurrence, read at each check. */
  readonly eventTtlMs: () => number
  readonly autoscaling: AutoscalingSettings
  /** The CA by which certificate requests are signed. */
  readonly signing: SigningSettings
}

export interface ManagerParts {
  readonly client: ApiClient
  readonly dialect: Dialect
  /** The identity in the lease, different for each process; absent: this process runs without leader election. */
  readonly identity?: string
  /** Whether the process with this identity has certainly ended; its lease is then taken without waiting for it to expire. */
  readonly isGone?: (identity: string) => boolean
  /** How long a leader that does not renew keeps the lease; absent: 15 s. */
  readonly leaseMs?: number
  readonly metrics: ControllerMetrics
  readonly log: Logger
}

export interface ControllerManagerParts extends ManagerParts, ControllerSettings {
  /** The controllers to run, from `controllerNames`. */
  readonly controllers: readonly string[]
}

const managerName = 'kube-controller-manager'
const schedulerName = 'kube-scheduler'

/** Creates the controllers of an API server as one component. */
export function createControllerManager(parts: ControllerManagerParts): ControllerManager {
  const chosen = controllerNames
    .filter((name) => parts.controllers.includes(name))
    .map((name): Factory => factories[name])
    .filter(({ dialect }) => dialect === undefined || dialect === parts.dialect.name)
  return composeManager(
    managerName,
    parts,
    chosen.map(({ source, create }) => ({ source, create: (context) => create(context, parts) })),
  )
}

/** Creates the scheduler of an API server, with a lease of its own. */
export function createSchedulerManager(parts: ManagerParts): ControllerManager {
  return composeManager(schedulerName, parts, [{ source: 'default-scheduler', create: createScheduler }])
}

function composeManager(
  name: string,
  { client, dialect, identity, isGone, leaseMs = 15_000, metrics, log }: ManagerParts,
  parts: readonly { readonly source: string; create(context: ControllerContext): Component }[],
): ControllerManager {
  const caches = new Caches({ client, log: log.child('caches') })
  const types = createDialectTypes(dialect)
  const contextOf = (source: string): ControllerContext => {
    const events = new ApiEventRecorder(client, source, log.child('events'))
    return { client, caches, types, dialect, events, metrics, log }
  }
  const lock = new ApiLeaseLock(client, dialect, { namespace: 'kube-system', name })
  return new ControllerManager({
    name,
    caches,
    controllers: parts.map(({ source, create }) => create(contextOf(source))),
    ...(identity !== undefined && {
      election: { lock, identity, ...(isGone && { isGone }), timing: timingOfLease(leaseMs) },
    }),
    metrics,
    log,
  })
}
