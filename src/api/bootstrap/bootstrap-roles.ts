import type { JsonObject } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import type { BootstrapBinding, BootstrapRole } from './bootstrap-role.ts'
import { controllerBindings, controllerRoles } from './controller-roles.ts'
import { signingBindings, signingRoles, signingRules } from './signing-roles.ts'

const read = ['get', 'list', 'watch']
const write = ['create', 'delete', 'deletecollection', 'patch', 'update']

/** Returns the ClusterRoles and bindings that people and the project's components require, under Kubernetes' names. */
export function bootstrapRoles(dialect: Dialect): readonly BootstrapRole[] {
  const components = [...componentRoles(dialect), ...signingRoles(dialect), ...controllerRoles(dialect)]
  return [...userRoles(dialect), ...basicRoles(dialect), ...components]
}

export function bootstrapBindings(dialect: Dialect): readonly BootstrapBinding[] {
  const group = (name: string) => ({ kind: 'Group', name, apiGroup: dialect.groups.rbac })
  const user = (name: string) => ({ kind: 'User', name, apiGroup: dialect.groups.rbac })
  return [
    { role: 'cluster-admin', subjects: [group('system:masters')] },
    { role: 'system:discovery', subjects: [group('system:authenticated')] },
    { role: 'system:basic-user', subjects: [group('system:authenticated')] },
    {
      role: 'system:public-info-viewer',
      subjects: [group('system:authenticated'), group('system:unauthenticated')],
    },
    { role: 'system:monitoring', subjects: [group('system:monitoring')] },
    { role: 'system:service-account-issuer-discovery', subjects: [group('system:serviceaccounts')] },
    { role: 'system:kube-controller-manager', subjects: [user('system:kube-controller-manager')] },
    { role: 'system:kube-scheduler', subjects: [user('system:kube-scheduler')] },
    { role: 'system:volume-scheduler', subjects: [user('system:kube-scheduler')] },
    { role: 'system:node-network-policy', subjects: [group('system:nodes')] },
    { role: 'system:kube-proxy', subjects: [user('system:kube-proxy')] },
    { role: 'system:metrics-server', subjects: [user('system:metrics-server')] },
    { role: 'system:kubelet-api-admin', subjects: [user('kube-apiserver-kubelet-client')] },
    ...signingBindings(dialect, [group('system:nodes')]),
    ...controllerBindings(dialect),
  ]
}

/** Returns `admin`, `edit` and `view`, which aggregate all roles with their label, so that a custom resource can add its rules. */
function userRoles({ groups }: Dialect): readonly BootstrapRole[] {
  const label = (name: string) => `${groups.rbac}/aggregate-to-${name}`
  const core = [
    ...['configmaps', 'endpoints', 'events', 'persistentvolumeclaims', 'pods', 'pods/status', 'serviceaccounts'],
    'services',
  ]
  const writable = core.filter((name) => !name.includes('/') && name !== 'events')
  const networking = ['ingresses', 'networkpolicies']
  const connections = ['pods/attach', 'pods/exec', 'pods/portforward', 'pods/proxy', 'services/proxy']
  const workloads = ['deployments', 'replicasets', 'statefulsets', 'daemonsets'].flatMap((name) => [
    name,
    `${name}/scale`,
  ])
  const autoscalers = ['horizontalpodautoscalers']
  return [
    {
      name: 'cluster-admin',
      rules: [resources(['*'], ['*'], ['*']), { verbs: ['*'], nonResourceURLs: ['*'] }],
    },
    { name: 'admin', rules: [], aggregates: label('admin') },
    { name: 'edit', rules: [], aggregates: label('edit'), labels: { [label('admin')]: 'true' } },
    { name: 'view', rules: [], aggregates: label('view'), labels: { [label('edit')]: 'true' } },
    {
      name: 'system:aggregate-to-admin',
      labels: { [label('admin')]: 'true' },
      rules: [
        resources([groups.rbac], ['roles', 'rolebindings'], [...read, ...write]),
        resources([groups.authorization], ['localsubjectaccessreviews'], ['create']),
      ],
    },
    {
      name: 'system:aggregate-to-edit',
      labels: { [label('edit')]: 'true', [label('admin')]: 'true' },
      rules: [
        resources([''], writable, write),
        resources([''], ['secrets'], [...read, ...write]),
        resources([''], ['serviceaccounts/token'], ['create']),
        resources([''], ['pods/eviction'], ['create']),
        resources([''], connections, [...read, ...write]),
        resources([''], ['serviceaccounts'], ['impersonate']),
        resources([groups.networking], networking, write),
        resources(['apps'], workloads, write),
        resources(['autoscaling'], autoscalers, write),
        resources([''], ['replicationcontrollers', 'replicationcontrollers/scale'], write),
        resources([''], ['podtemplates'], write),
        resources(['batch'], ['jobs', 'cronjobs'], write),
        resources(['policy'], ['poddisruptionbudgets'], write),
        resources([groups.coordination], ['leases'], [...read, ...write]),
      ],
    },
    {
      name: 'system:aggregate-to-view',
      labels: { [label('view')]: 'true', [label('edit')]: 'true', [label('admin')]: 'true' },
      rules: [
        resources([''], [...core, 'namespaces', 'persistentvolumeclaims/status', 'pods/log', 'services/status'], read),
        resources(
          [''],
          ['replicationcontrollers', 'replicationcontrollers/scale', 'replicationcontrollers/status'],
          read,
        ),
        resources([''], ['limitranges', 'podtemplates', 'resourcequotas', 'resourcequotas/status'], read),
        resources([groups.discovery], ['endpointslices'], read),
        resources([groups.networking], [...networking, 'ingresses/status'], read),
        resources([groups.events], ['events'], read),
        resources(['apps'], workloads, read),
        resources(['autoscaling'], [...autoscalers, 'horizontalpodautoscalers/status'], read),
        resources(['batch'], ['jobs', 'jobs/status', 'cronjobs', 'cronjobs/status'], read),
        resources(['policy'], ['poddisruptionbudgets', 'poddisruptionbudgets/status'], read),
        resources([groups.metrics], ['nodes', 'pods'], read),
      ],
    },
  ]
}

/** Returns the roles of every authenticated user, and those of some groups. */
function basicRoles({ groups }: Dialect): readonly BootstrapRole[] {
  const health = ['/healthz', '/livez', '/readyz', '/version', '/version/']
  const documents = ['/api', '/api/*', '/apis', '/apis/*', '/openapi', '/openapi/*', ...health]
  const deepHealth = ['/healthz/*', '/livez/*', '/readyz/*', ...health]
  const issuer = [
    '/.well-known/openid-configuration',
    '/.well-known/openid-configuration/',
    '/openid/v1/jwks',
    '/openid/v1/jwks/',
  ]
  return [
    { name: 'system:public-info-viewer', rules: [{ verbs: ['get'], nonResourceURLs: health }] },
    { name: 'system:discovery', rules: [{ verbs: ['get'], nonResourceURLs: documents }] },
    {
      name: 'system:basic-user',
      rules: [
        resources([groups.authorization], ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'], ['create']),
        resources([groups.authentication], ['selfsubjectreviews'], ['create']),
      ],
    },
    { name: 'system:monitoring', rules: [{ verbs: ['get'], nonResourceURLs: ['/metrics', ...deepHealth] }] },
    { name: 'system:service-account-issuer-discovery', rules: [{ verbs: ['get'], nonResourceURLs: issuer }] },
    {
      name: 'system:auth-delegator',
      rules: [
        resources([groups.authentication], ['tokenreviews'], ['create']),
        resources([groups.authorization], ['subjectaccessreviews'], ['create']),
      ],
    },
  ]
}

/**
 * Returns the roles of components. `system:node` has no binding: the node authorizer gives each node access to its own objects. What a NetworkPolicy
 * allows depends on the labels and addresses of pods of other nodes, so all nodes have `system:node-network-policy`.
 */
function componentRoles(dialect: Dialect): readonly BootstrapRole[] {
  const { groups } = dialect
  const events = resources(['', groups.events], ['events'], ['create', 'patch', 'update'])
  const leases = resources([groups.coordination], ['leases'], ['create', 'get', 'list', 'patch', 'update', 'watch'])
  const network = [
    resources([''], ['endpoints', 'namespaces', 'nodes', 'services'], read),
    resources([groups.discovery], ['endpointslices'], read),
  ]
  return [
    { name: 'system:node', rules: [...network, events, leases] },
    ...volumeRoles(dialect, events),
    { name: 'system:node-network-policy', rules: [resources([''], ['pods'], ['list', 'watch'])] },
    { name: 'system:metrics-server', rules: [resources([''], ['nodes/metrics'], ['get'])] },
    {
      name: 'system:kubelet-api-admin',
      rules: [
        resources([''], ['nodes'], [...read, 'proxy']),
        resources([''], ['nodes/log', 'nodes/metrics', 'nodes/proxy', 'nodes/stats'], ['*']),
      ],
    },
    { name: 'system:kube-proxy', rules: [...network, resources([groups.networking], ['servicecidrs'], read), events] },
    {
      name: 'system:kube-scheduler',
      rules: [
        resources([''], ['namespaces', 'nodes', 'pods', 'replicationcontrollers', 'services'], read),
        resources(['apps'], ['replicasets', 'statefulsets'], read),
        resources(['policy'], ['poddisruptionbudgets'], read),
        resources([''], ['persistentvolumeclaims', 'persistentvolumes'], read),
        resources([groups.storage], ['csidrivers', 'csinodes', 'csistoragecapacities', 'volumeattachments'], read),
        resources([''], ['pods'], ['delete']),
        resources([''], ['bindings', 'pods/binding'], ['create']),
        resources([''], ['pods/status'], ['patch', 'update']),
        resources([groups.authentication], ['tokenreviews'], ['create']),
        resources([groups.authorization], ['subjectaccessreviews'], ['create']),
        events,
        leases,
      ],
    },
    {
      name: 'system:kube-controller-manager',
      rules: [
        resources(['*'], ['*'], ['delete', 'deletecollection', ...read, 'patch', 'update']),
        resources(
          [''],
          [
            ...['configmaps', 'endpoints', 'persistentvolumeclaims', 'pods', 'secrets', 'serviceaccounts'],
            'serviceaccounts/token',
          ],
          ['create'],
        ),
        resources([groups.discovery], ['endpointslices'], ['create']),
        resources([groups.networking], ['ipaddresses'], ['create']),
        resources(['apps'], ['replicasets', 'controllerrevisions'], ['create']),
        resources(['batch'], ['jobs'], ['create']),
        ...signingRules(dialect),
        resources([groups.authentication], ['tokenreviews'], ['create']),
        resources([groups.authorization], ['subjectaccessreviews'], ['create']),
        events,
        leases,
      ],
    },
  ]
}

/** Returns the roles of a scheduler that binds claims, and of a provisioner. */
function volumeRoles({ groups }: Dialect, events: JsonObject): readonly BootstrapRole[] {
  const classes = resources([groups.storage], ['storageclasses'], read)
  return [
    {
      name: 'system:volume-scheduler',
      rules: [
        resources([''], ['persistentvolumes'], [...read, 'patch', 'update']),
        classes,
        resources([''], ['persistentvolumeclaims'], [...read, 'patch', 'update']),
      ],
    },
    {
      name: 'system:persistent-volume-provisioner',
      rules: [
        resources([''], ['persistentvolumes'], ['create', 'delete', ...read]),
        resources([''], ['persistentvolumeclaims'], [...read, 'update']),
        classes,
        resources([''], ['events'], ['watch']),
        events,
      ],
    },
  ]
}

function resources(apiGroups: readonly string[], names: readonly string[], verbs: readonly string[]): JsonObject {
  return { apiGroups, resources: names, verbs }
}
