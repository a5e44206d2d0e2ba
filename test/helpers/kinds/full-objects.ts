import type { JsonObject } from '../../../src/model/api-object.ts'
import { fullPolicies } from './full-policies.ts'
import { fullVolumes } from './full-volumes.ts'

/** A valid object in which every field says something, and what its status may be. */
export interface FullObject {
  readonly kind: string
  readonly path: string
  readonly body: JsonObject
  readonly status?: JsonObject
  /** It is asked, not stored. */
  readonly isAction?: boolean
}

const inDefault = '/namespaces/default'
const networking = '/apis/networking.k8s.io/v1'
const rbac = '/apis/rbac.authorization.k8s.io/v1'
const apps = '/apis/apps/v1'
const authorization = '/apis/authorization.k8s.io/v1'
const authentication = '/apis/authentication.k8s.io/v1'
const core = '/api/v1'

const metadata = { name: 'full', labels: { a: 'b' }, annotations: { c: 'd' } }
const selector = { matchLabels: { a: 'b' }, matchExpressions: [{ key: 'k', operator: 'In', values: ['v', 'w'] }] }
const time = '2026-01-01T00:00:00Z'

const service = { name: 'web', port: { number: 80 } }
const named = { name: 'web', port: { name: 'http' } }
const block = { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] }

const networkKinds: readonly FullObject[] = [
  {
    kind: 'Ingress',
    path: `${networking}${inDefault}/ingresses`,
    body: {
      metadata,
      spec: {
        ingressClassName: 'c',
        defaultBackend: { resource: { apiGroup: 'example.com', kind: 'Bucket', name: 'n' } },
        tls: [{ hosts: ['a.example.com'], secretName: 's' }],
        rules: [
          {
            host: 'h.example.com',
            http: {
              paths: [
                { path: '/a', pathType: 'Prefix', backend: { service } },
                { path: '/b', pathType: 'Exact', backend: { service: named } },
              ],
            },
          },
        ],
      },
    },
    status: {
      loadBalancer: {
        ingress: [
          { ip: '192.0.2.1', ports: [{ port: 80, protocol: 'TCP', error: 'a' }] },
          { hostname: 'lb.example.com' },
        ],
      },
    },
  },
  {
    kind: 'IngressClass',
    path: `${networking}/ingressclasses`,
    body: {
      metadata,
      spec: {
        controller: 'example.com/c',
        parameters: { apiGroup: 'example.com', kind: 'K', name: 'n', scope: 'Namespace', namespace: 'default' },
      },
    },
  },
  {
    kind: 'NetworkPolicy',
    path: `${networking}${inDefault}/networkpolicies`,
    body: {
      metadata,
      spec: {
        podSelector: selector,
        policyTypes: ['Ingress', 'Egress'],
        ingress: [
          {
            ports: [{ port: 80, endPort: 90, protocol: 'TCP' }, { port: 'http' }],
            from: [{ podSelector: selector, namespaceSelector: selector }, { ipBlock: block }],
          },
        ],
        egress: [{ ports: [{ port: 53, protocol: 'UDP' }], to: [{ podSelector: {} }, { ipBlock: block }] }],
      },
    },
  },
  {
    kind: 'IPAddress',
    path: `${networking}/ipaddresses`,
    body: {
      metadata: { name: '198.51.100.77' },
      spec: { parentRef: { group: 'example.com', resource: 'services', namespace: 'default', name: 'w' } },
    },
  },
  {
    kind: 'ServiceCIDR',
    path: `${networking}/servicecidrs`,
    body: { metadata, spec: { cidrs: ['198.18.9.0/24', '2001:db8:9::/112'] } },
    status: {
      conditions: [
        { type: 'Ready', status: 'True', reason: 'R', message: 'm', lastTransitionTime: time, observedGeneration: 1 },
      ],
    },
  },
]

const rule = { apiGroups: ['apps'], resources: ['pods'], verbs: ['get'], resourceNames: ['a'] }
const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' }
const account = { kind: 'ServiceAccount', name: 's', namespace: 'default' }
const user = { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'u' }

const roleKinds: readonly FullObject[] = [
  { kind: 'Role', path: `${rbac}${inDefault}/roles`, body: { metadata, rules: [rule] } },
  {
    kind: 'ClusterRole',
    path: `${rbac}/clusterroles`,
    body: {
      metadata,
      rules: [rule, { verbs: ['get'], nonResourceURLs: ['/a'] }],
      aggregationRule: { clusterRoleSelectors: [selector] },
    },
  },
  {
    kind: 'RoleBinding',
    path: `${rbac}${inDefault}/rolebindings`,
    body: { metadata, roleRef, subjects: [user, { ...user, kind: 'Group' }, account] },
  },
  { kind: 'ClusterRoleBinding', path: `${rbac}/clusterrolebindings`, body: { metadata, roleRef, subjects: [account] } },
]

const labels = { app: 'web' }
const ofPods = { matchLabels: labels, matchExpressions: [{ key: 'app', operator: 'In', values: ['web', 'w'] }] }
const template = {
  metadata: { labels, annotations: { a: 'b' } },
  spec: { containers: [{ name: 'web', image: 'web:1' }] },
}
const common = { selector: ofPods, template, minReadySeconds: 1, revisionHistoryLimit: 3 }
const conditions = [{ type: 'A', status: 'True', reason: 'r', message: 'm', lastTransitionTime: time }]
const snapshot = { apiGroup: 'snapshot.example.com', kind: 'S', name: 's' }

const workloadKinds: readonly FullObject[] = [
  {
    kind: 'Deployment',
    path: `${apps}${inDefault}/deployments`,
    body: {
      metadata,
      spec: {
        ...common,
        replicas: 2,
        progressDeadlineSeconds: 60,
        paused: true,
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: 1 } },
      },
    },
    status: {
      replicas: 3,
      updatedReplicas: 2,
      readyReplicas: 2,
      availableReplicas: 2,
      unavailableReplicas: 1,
      observedGeneration: 1,
      collisionCount: 1,
      conditions,
    },
  },
  {
    kind: 'ReplicaSet',
    path: `${apps}${inDefault}/replicasets`,
    body: { metadata, spec: { selector: ofPods, template, minReadySeconds: 1, replicas: 2 } },
    status: {
      replicas: 3,
      fullyLabeledReplicas: 2,
      readyReplicas: 2,
      availableReplicas: 2,
      observedGeneration: 1,
      conditions,
    },
  },
  {
    kind: 'DaemonSet',
    path: `${apps}${inDefault}/daemonsets`,
    body: {
      metadata,
      spec: {
        ...common,
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: '10%' } },
      },
    },
    status: {
      currentNumberScheduled: 1,
      numberMisscheduled: 1,
      desiredNumberScheduled: 1,
      numberReady: 1,
      observedGeneration: 1,
      updatedNumberScheduled: 1,
      numberAvailable: 1,
      numberUnavailable: 1,
      collisionCount: 1,
      conditions,
    },
  },
  {
    kind: 'StatefulSet',
    path: `${apps}${inDefault}/statefulsets`,
    body: {
      metadata,
      spec: {
        ...common,
        replicas: 2,
        serviceName: 'web',
        podManagementPolicy: 'Parallel',
        ordinals: { start: 1 },
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete', whenScaled: 'Retain' },
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } },
        volumeClaimTemplates: [
          {
            metadata: { name: 'data', labels: { a: 'b' } },
            spec: {
              accessModes: ['ReadWriteOnce', 'ReadOnlyMany'],
              storageClassName: 'fast',
              volumeMode: 'Filesystem',
              volumeName: 'v',
              selector,
              resources: { requests: { storage: '1Gi' }, limits: { storage: '2Gi' } },
              volumeAttributesClassName: 'gold',
              dataSource: snapshot,
              dataSourceRef: snapshot,
            },
          },
        ],
      },
    },
    status: {
      replicas: 3,
      readyReplicas: 2,
      currentReplicas: 1,
      updatedReplicas: 2,
      availableReplicas: 1,
      observedGeneration: 1,
      collisionCount: 1,
      currentRevision: 'a',
      updateRevision: 'b',
      conditions,
    },
  },
  {
    kind: 'ControllerRevision',
    path: `${apps}${inDefault}/controllerrevisions`,
    body: { metadata, revision: 2, data: { a: { b: 1 } } },
  },
  {
    kind: 'HorizontalPodAutoscaler',
    path: `/apis/autoscaling/v2${inDefault}/horizontalpodautoscalers`,
    body: {
      metadata,
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
        minReplicas: 2,
        maxReplicas: 5,
        metrics: [
          { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
          {
            type: 'ContainerResource',
            containerResource: {
              name: 'memory',
              container: 'app',
              target: { type: 'AverageValue', averageValue: '100Mi' },
            },
          },
          {
            type: 'Object',
            object: {
              describedObject: { apiVersion: 'v1', kind: 'Service', name: 's' },
              metric: { name: 'm', selector },
              target: { type: 'Value', value: '5' },
            },
          },
        ],
        behavior: {
          scaleUp: {
            stabilizationWindowSeconds: 5,
            selectPolicy: 'Min',
            policies: [{ type: 'Pods', value: 1, periodSeconds: 60 }],
          },
          scaleDown: {
            stabilizationWindowSeconds: 60,
            selectPolicy: 'Disabled',
            policies: [{ type: 'Percent', value: 10, periodSeconds: 30 }],
          },
        },
      },
    },
    status: {
      observedGeneration: 1,
      lastScaleTime: time,
      currentReplicas: 2,
      desiredReplicas: 3,
      currentMetrics: [
        { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 40, averageValue: '80m' } } },
      ],
      conditions: [
        { type: 'AbleToScale', status: 'True', lastTransitionTime: time, reason: 'ReadyForNewScale', message: 'm' },
      ],
    },
  },
  {
    kind: 'CSINode',
    path: '/apis/storage.k8s.io/v1/csinodes',
    body: {
      metadata,
      spec: {
        drivers: [
          { name: 'd.example.com', nodeID: 'n', topologyKeys: ['example.com/zone', 'r'], allocatable: { count: 5 } },
          { name: 'e', nodeID: 'm' },
        ],
      },
    },
  },
]

const requirements = [{ key: 'k', operator: 'In', values: ['v'] }]
const resourceAttributes = {
  namespace: 'default',
  verb: 'get',
  group: 'apps',
  version: 'v1',
  resource: 'deployments',
  subresource: 'status',
  name: 'n',
  fieldSelector: { requirements },
  labelSelector: { requirements },
}

const action = (kind: string, path: string, body: JsonObject): FullObject => ({ kind, path, body, isAction: true })

const actions: readonly FullObject[] = [
  action('SubjectAccessReview', `${authorization}/subjectaccessreviews`, {
    spec: { user: 'u', groups: ['g'], uid: 'i', extra: { e: ['x'] }, resourceAttributes },
  }),
  action('SelfSubjectAccessReview', `${authorization}/selfsubjectaccessreviews`, {
    spec: { nonResourceAttributes: { path: '/a', verb: 'get' } },
  }),
  action('LocalSubjectAccessReview', `${authorization}${inDefault}/localsubjectaccessreviews`, {
    spec: { user: 'u', groups: ['g'], resourceAttributes },
  }),
  action('SelfSubjectRulesReview', `${authorization}/selfsubjectrulesreviews`, { spec: { namespace: 'default' } }),
  action('TokenReview', `${authentication}/tokenreviews`, { spec: { token: 't', audiences: ['a'] } }),
  action('TokenRequest', `${core}${inDefault}/serviceaccounts/default/token`, {
    metadata: { name: 'default' },
    spec: { audiences: ['a'], expirationSeconds: 3600 },
  }),
  action('Binding', `${core}${inDefault}/pods/free/binding`, {
    metadata: { name: 'free', annotations: { a: 'b' } },
    target: { apiVersion: 'v1', kind: 'Node', name: 'n' },
  }),
  action('Eviction', `${core}${inDefault}/pods/free/eviction`, {
    metadata: { name: 'free', annotations: { a: 'b' } },
    deleteOptions: { gracePeriodSeconds: 3, propagationPolicy: 'Background' },
  }),
]

export const fullObjects: readonly FullObject[] = [
  ...networkKinds,
  ...roleKinds,
  ...workloadKinds,
  ...fullPolicies,
  ...fullVolumes,
  ...actions,
]
