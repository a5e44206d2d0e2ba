import type { JsonObject } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import type { BootstrapBinding, BootstrapRole } from './bootstrap-role.ts'

/** API groups with `+` between them, resources with `,` between them, verbs: one rule of a role. The core group is `core`. */
type Row = readonly [groups: string, resources: string, verbs: string]

const events: Row = ['core+events', 'events', 'create,patch,update']
const read = 'get,list,watch'
const children = 'create,delete,list,patch,watch'
const everyVerb = 'create,delete,get,list,patch,update,watch'

/**
 * What each controller of kube-controller-manager may do that runs by a ServiceAccount of its own (`--use-service-account-credentials`): its
 * name in Kubernetes 1.34, and its rules there, less those for kinds that this server does not serve.
 */
const controllers: Readonly<Record<string, readonly Row[]>> = {
  'attachdetach-controller': [
    ['core', 'persistentvolumeclaims,persistentvolumes,pods', 'list,watch'],
    ['core', 'nodes', read],
    ['core', 'nodes/status', 'patch,update'],
    ['storage', 'volumeattachments', 'create,delete,get,list,watch'],
    ['storage', 'csidrivers,csinodes', read],
    events,
  ],
  'certificate-controller': [
    ['certificates', 'certificatesigningrequests', 'delete,get,list,watch'],
    ['certificates', 'certificatesigningrequests/approval,certificatesigningrequests/status', 'update'],
    ['authorization', 'subjectaccessreviews', 'create'],
    events,
  ],
  'clusterrole-aggregation-controller': [['rbac', 'clusterroles', 'escalate,get,list,patch,update,watch']],
  'cronjob-controller': [
    ['batch', 'cronjobs', `${read},update`],
    ['batch', 'jobs', everyVerb],
    ['batch', 'cronjobs/finalizers,cronjobs/status', 'update'],
    ['core', 'pods', 'delete,list,watch'],
    events,
  ],
  'daemon-set-controller': [
    ['apps', 'daemonsets', read],
    ['apps', 'daemonsets/finalizers,daemonsets/status', 'update'],
    ['apps', 'controllerrevisions', everyVerb],
    ['core', 'nodes', 'list,watch'],
    ['core', 'pods', children],
    ['core', 'pods/binding', 'create'],
    events,
  ],
  'deployment-controller': [
    ['apps', 'deployments', `${read},update`],
    ['apps', 'deployments/finalizers,deployments/status', 'update'],
    ['apps', 'replicasets', everyVerb],
    ['core', 'pods', `${read},update`],
    events,
  ],
  'disruption-controller': [
    ['apps', 'deployments,replicasets,statefulsets', read],
    ['core', 'replicationcontrollers', read],
    ['policy', 'poddisruptionbudgets', read],
    ['policy', 'poddisruptionbudgets/status', 'update'],
    ['core', 'pods/status', 'patch,update'],
    ['*', '*/scale', 'get'],
    events,
  ],
  'endpoint-controller': [
    ['core', 'pods,services', read],
    ['core', 'endpoints', 'create,delete,get,list,update,watch'],
    ['core', 'endpoints/restricted', 'create'],
    events,
  ],
  'endpointslice-controller': [
    ['core', 'nodes,pods,services', read],
    ['core', 'services/finalizers', 'update'],
    ['discovery', 'endpointslices', 'create,delete,get,list,update,watch'],
    events,
  ],
  'endpointslicemirroring-controller': [
    ['core', 'endpoints,services', read],
    ['core', 'endpoints/finalizers,services/finalizers', 'update'],
    ['discovery', 'endpointslices', 'create,delete,get,list,update,watch'],
    events,
  ],
  'ephemeral-volume-controller': [
    ['core', 'pods', read],
    ['core', 'pods/finalizers', 'update'],
    ['core', 'persistentvolumeclaims', `create,${read}`],
    events,
  ],
  'expand-controller': [
    ['core', 'persistentvolumes', `${read},patch,update`],
    ['core', 'persistentvolumeclaims/status', 'patch,update'],
    ['core', 'persistentvolumeclaims', read],
    ['core', 'services', 'get'],
    events,
  ],
  'generic-garbage-collector': [['*', '*', 'delete,get,list,patch,update,watch'], events],
  'horizontal-pod-autoscaler': [
    ['autoscaling', 'horizontalpodautoscalers', read],
    ['autoscaling', 'horizontalpodautoscalers/status', 'update'],
    ['*', '*/scale', 'get,update'],
    ['core', 'pods', 'list,watch'],
    ['metrics', 'pods', 'list,watch'],
    events,
  ],
  'job-controller': [
    ['batch', 'jobs', `${read},patch,update`],
    ['batch', 'jobs/finalizers,jobs/status', 'update'],
    ['core', 'pods', children],
    events,
  ],
  'legacy-service-account-token-cleaner': [['core', 'secrets', 'delete,patch']],
  'namespace-controller': [
    ['core', 'namespaces/finalize,namespaces/status', 'update'],
    ['*', '*', 'delete,deletecollection,get,list,watch'],
  ],
  'node-controller': [
    ['core', 'nodes', 'delete,get,list,patch,update,watch'],
    ['core', 'nodes/status,pods/status', 'patch,update'],
    ['core', 'pods', 'delete,get,list,watch'],
    events,
  ],
  'persistent-volume-binder': [
    ['core', 'persistentvolumes', `create,delete,${read},update`],
    ['core', 'persistentvolumes/status,persistentvolumeclaims/status', 'update'],
    ['core', 'persistentvolumeclaims', `${read},update`],
    ['core', 'pods', `create,delete,${read}`],
    ['storage', 'storageclasses', read],
    ['core', 'nodes', 'list,watch'],
    ['core', 'events', 'watch'],
    ['core', 'services', 'get'],
    events,
  ],
  'pod-garbage-collector': [
    ['core', 'pods', 'delete,list,watch'],
    ['core', 'nodes', read],
    ['core', 'pods/status', 'patch'],
  ],
  'pv-protection-controller': [['core', 'persistentvolumes', `${read},update`], events],
  'pvc-protection-controller': [['core', 'persistentvolumeclaims', `${read},update`], ['core', 'pods', read], events],
  'replicaset-controller': [
    ['apps', 'replicasets', `${read},update`],
    ['apps', 'replicasets/finalizers,replicasets/status', 'update'],
    ['core', 'pods', children],
    events,
  ],
  'replication-controller': [
    ['core', 'replicationcontrollers', `${read},update`],
    ['core', 'replicationcontrollers/finalizers,replicationcontrollers/status', 'update'],
    ['core', 'pods', children],
    events,
  ],
  'resourcequota-controller': [['*', '*', 'list,watch'], ['core', 'resourcequotas/status', 'update'], events],
  'root-ca-cert-publisher': [['core', 'configmaps', 'create,update'], events],
  'route-controller': [['core', 'nodes', 'list,watch'], ['core', 'nodes/status', 'patch'], events],
  'selinux-warning-controller': [
    ['core', 'persistentvolumeclaims,persistentvolumes,pods', read],
    ['storage', 'csidrivers', read],
    events,
  ],
  'service-account-controller': [['core', 'serviceaccounts', 'create'], events],
  'service-cidrs-controller': [
    ['networking', 'servicecidrs', `${read},patch,update`],
    ['networking', 'servicecidrs/finalizers,servicecidrs/status', 'patch,update'],
    ['networking', 'ipaddresses', read],
    events,
  ],
  'service-controller': [
    ['core', 'services', read],
    ['core', 'services/status', 'patch,update'],
    ['core', 'nodes', 'list,watch'],
    events,
  ],
  'statefulset-controller': [
    ['apps', 'statefulsets', read],
    ['apps', 'statefulsets/finalizers,statefulsets/status', 'update'],
    ['apps', 'controllerrevisions', everyVerb],
    ['core', 'pods', everyVerb],
    ['core', 'pods/finalizers', 'update'],
    ['core', 'persistentvolumeclaims', `create,delete,${read},update`],
    events,
  ],
  'ttl-after-finished-controller': [['batch', 'jobs', 'delete,get,list,watch'], events],
  'ttl-controller': [['core', 'nodes', 'list,patch,update,watch'], events],
  'validatingadmissionpolicy-status-controller': [
    ['admissionregistration', 'validatingadmissionpolicies', read],
    ['admissionregistration', 'validatingadmissionpolicies/status', 'get,patch,update'],
    events,
  ],
  'volumeattributesclass-protection-controller': [
    ['core', 'persistentvolumeclaims,persistentvolumes', read],
    ['storage', 'volumeattributesclasses', `${read},update`],
    events,
  ],
}

/** Returns the roles of Kubernetes' own controllers; only its dialect has a use for them. */
export function controllerRoles(dialect: Dialect): readonly BootstrapRole[] {
  if (dialect.name !== 'kubernetes') return []
  return Object.entries(controllers).map(([name, rows]) => ({
    name: roleOf(name),
    rules: [...rows.map((row) => toRule(row, dialect)), ...(extraRules(dialect)[name] ?? [])],
  }))
}

export function controllerBindings(dialect: Dialect): readonly BootstrapBinding[] {
  if (dialect.name !== 'kubernetes') return []
  return Object.keys(controllers).map((name) => ({
    role: roleOf(name),
    subjects: [{ kind: 'ServiceAccount', namespace: 'kube-system', name }],
  }))
}

function roleOf(controller: string): string {
  return `system:controller:${controller}`
}

function toRule([groups, resources, verbs]: Row, dialect: Dialect): JsonObject {
  const known: Readonly<Record<string, string>> = { ...dialect.groups, core: '' }
  const apiGroups = groups.split('+').map((name) => known[name] ?? name)
  return { apiGroups, resources: resources.split(','), verbs: verbs.split(',') }
}

/** Rules about objects that are named. */
function extraRules({ groups, signers }: Dialect): Readonly<Record<string, readonly JsonObject[]>> {
  const { client, kubeletClient, kubeletServing, legacy } = signers
  const signer = (verbs: readonly string[], resourceNames: readonly string[]): JsonObject => ({
    apiGroups: [groups.certificates],
    resources: ['signers'],
    resourceNames,
    verbs,
  })
  return {
    'certificate-controller': [
      signer(['approve'], [kubeletClient]),
      signer(['sign'], [legacy, client, kubeletClient, kubeletServing]),
    ],
  }
}
