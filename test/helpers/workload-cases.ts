/** Workloads, each one step away from a valid one, for the API core and kube-apiserver alike. */
export interface WorkloadCase {
  readonly title: string
  readonly plural: 'deployments' | 'replicasets' | 'statefulsets' | 'daemonsets'
  /** Laid over the valid spec, field by field. */
  readonly spec?: object
  /** Laid over the spec of its template. */
  readonly template?: object
  readonly errors: readonly string[]
}

const kinds = {
  deployments: 'Deployment',
  replicasets: 'ReplicaSet',
  statefulsets: 'StatefulSet',
  daemonsets: 'DaemonSet',
}

function makers(plural: WorkloadCase['plural']) {
  return (title: string, spec: object, ...errors: string[]): WorkloadCase => ({ title, plural, spec, errors })
}

const deployment = makers('deployments')
const replicaSet = makers('replicasets')
const statefulSet = makers('statefulsets')
const daemonSet = makers('daemonsets')
const rolling = (rollingUpdate: object, type = 'RollingUpdate') => ({ strategy: { type, rollingUpdate } })
const setRolling = (rollingUpdate: object, type = 'RollingUpdate') => ({ updateStrategy: { type, rollingUpdate } })
const claim = (spec: object) => ({ volumeClaimTemplates: [{ metadata: { name: 'data' }, spec }] })
const gib = { resources: { requests: { storage: '1Gi' } } }

const pace = 'spec.strategy.rollingUpdate'
const setPace = 'spec.updateStrategy.rollingUpdate'

const ownFields: readonly WorkloadCase[] = [
  deployment('nothing special', {}),
  deployment('fewer than no replicas', { replicas: -1 }, 'spec.replicas'),
  deployment('no selector', { selector: null }, 'spec.selector', 'spec.template.metadata.labels'),
  deployment('an empty selector', { selector: {} }, 'spec.selector'),
  deployment(
    'a selector of other pods',
    { selector: { matchLabels: { app: 'other' } } },
    'spec.template.metadata.labels',
  ),
  deployment(
    'a selector of what its pods must not be',
    { selector: { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['web'] }] } },
    'spec.template.metadata.labels',
  ),
  deployment('a strategy that is none', { strategy: { type: 'Slowly' } }, 'spec.strategy'),
  deployment('a surge that is a word', rolling({ maxSurge: 'foo' }), `${pace}.maxSurge`),
  deployment('a surge of 200 %', rolling({ maxSurge: '200%' })),
  deployment('a surge below nothing', rolling({ maxSurge: -1 }), `${pace}.maxSurge`),
  deployment('more unavailable than there are', rolling({ maxUnavailable: '101%' }), `${pace}.maxUnavailable`),
  deployment('no way to go on', rolling({ maxUnavailable: 0, maxSurge: '0%' }), `${pace}.maxUnavailable`),
  deployment('a pace for a strategy without', rolling({ maxSurge: 1 }, 'Recreate'), pace),
  deployment(
    'a deadline before it is ready',
    { minReadySeconds: 10, progressDeadlineSeconds: 10 },
    'spec.progressDeadlineSeconds',
  ),
  deployment(
    'negative times',
    { minReadySeconds: -1, revisionHistoryLimit: -1 },
    'spec.minReadySeconds',
    'spec.revisionHistoryLimit',
  ),
  replicaSet('nothing special', {}),
  replicaSet('an empty selector', { selector: {} }, 'spec.selector'),
  replicaSet('fewer than no replicas', { replicas: -1 }, 'spec.replicas'),
  statefulSet('nothing special', {}),
  statefulSet('a way of managing pods that is none', { podManagementPolicy: 'Loose' }, 'spec.podManagementPolicy'),
  statefulSet('a strategy that is none', { updateStrategy: { type: 'Recreate' } }, 'spec.updateStrategy'),
  statefulSet('a pace for a strategy without', setRolling({ partition: 1 }, 'OnDelete'), setPace),
  statefulSet('a negative partition', setRolling({ partition: -1 }), `${setPace}.partition`),
  statefulSet(
    'a retention that is none',
    { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Maybe' } },
    'spec.persistentVolumeClaimRetentionPolicy.whenDeleted',
  ),
  statefulSet('a negative first ordinal', { ordinals: { start: -1 } }, 'spec.ordinals.start'),
  statefulSet('a Service name with a dot', { serviceName: 'a.b' }, 'spec.serviceName'),
  statefulSet(
    'a claim of no size',
    claim({ accessModes: ['ReadWriteOnce'] }),
    'spec.volumeClaimTemplates[0].spec.resources[storage]',
  ),
  statefulSet(
    'a claim of an access mode that is none',
    claim({ accessModes: ['Often'], ...gib }),
    'spec.volumeClaimTemplates[0].spec.accessModes',
  ),
  daemonSet('nothing special', {}),
  daemonSet('no selector', { selector: null }, 'spec.selector', 'spec.template.metadata.labels'),
  daemonSet('a strategy that is none', { updateStrategy: { type: 'Recreate' } }, 'spec.updateStrategy'),
  daemonSet('surge and unavailable at once', setRolling({ maxSurge: 1, maxUnavailable: 1 }), `${setPace}.maxSurge`),
  daemonSet(
    'neither surge nor unavailable',
    setRolling({ maxSurge: 0, maxUnavailable: 0 }),
    `${setPace}.maxUnavailable`,
  ),
]

const at = 'spec.template.spec'
const plurals = ['deployments', 'replicasets', 'statefulsets', 'daemonsets'] as const

function template(title: string, spec: object, ...errors: string[]): readonly WorkloadCase[] {
  return plurals.map((plural) => ({ title, plural, template: spec, errors: errors.map((field) => `${at}.${field}`) }))
}

const templates: readonly WorkloadCase[] = [
  ...template('pods that run once', { restartPolicy: 'Never' }, 'restartPolicy'),
  ...template('pods with a deadline', { activeDeadlineSeconds: 5 }, 'activeDeadlineSeconds'),
  ...template('no containers', { containers: [] }, 'containers'),
  ...template('a container without name', { containers: [{ image: 'a' }] }, 'containers[0].name'),
  ...template(
    'a mount of no volume',
    { containers: [{ name: 'web', image: 'a', volumeMounts: [{ name: 'x', mountPath: '/x' }] }] },
    'containers[0].volumeMounts[0].name',
  ),
  ...template(
    'a probe of port 0',
    { containers: [{ name: 'web', image: 'a', livenessProbe: { tcpSocket: { port: 0 } } }] },
    'containers[0].livenessProbe.tcpSocket.port',
  ),
  ...template(
    'a request above its limit',
    { containers: [{ name: 'web', image: 'a', resources: { limits: { cpu: '1' }, requests: { cpu: '2' } } }] },
    'containers[0].resources.requests',
  ),
  ...template('a toleration of nothing', { tolerations: [{}] }, 'tolerations[0].operator'),
  ...template('host network without host ports', {
    hostNetwork: true,
    containers: [{ name: 'web', image: 'a', ports: [{ containerPort: 80 }] }],
  }),
  {
    title: 'a mount of a claim of its own',
    plural: 'statefulsets',
    spec: claim({ accessModes: ['ReadWriteOnce'], ...gib }),
    template: { containers: [{ name: 'web', image: 'a', volumeMounts: [{ name: 'data', mountPath: '/x' }] }] },
    errors: [],
  },
  {
    title: 'a host name with a dot, which it does not use',
    plural: 'statefulsets',
    template: { hostname: 'a.b' },
    errors: [],
  },
]

export const workloadCases: readonly WorkloadCase[] = [...ownFields, ...templates]

/** The workload of a case: the valid one with what the case lays over it. */
export function workloadOf({ plural, spec = {}, template = {} }: WorkloadCase): object {
  return {
    apiVersion: 'apps/v1',
    kind: kinds[plural],
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'web', image: 'web:1' }], ...template },
      },
      ...spec,
    },
  }
}
