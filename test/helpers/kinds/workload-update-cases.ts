import {
  changes,
  creates,
  type Expected,
  type Fixture,
  type KindCases,
  otherWords,
  replaces,
  type WriteCase,
} from './write-case.ts'

const apps = '/apis/apps/v1/namespaces/default'
const labels = { app: 'web' }
const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web:1' }] } }
const spec = { selector: { matchLabels: labels }, template }
const claim = {
  metadata: { name: 'data' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
}

const fixture = (plural: string, change: object = {}): Fixture => ({
  path: `${apps}/${plural}`,
  status: plural === 'replicasets' ? {} : { collisionCount: 2 },
  body: { metadata: { name: 'web' }, spec: { ...spec, ...change } },
})
const path = (plural: string, subresource = '') => `${apps}/${plural}/web${subresource}`
const toSpec = (change: object) => ({ spec: change })
const toStatus = (change: object) => ({ status: change })
const selector = toSpec({ selector: { matchLabels: { app: 'other' } } })
const relabeled = toSpec({
  selector: { matchLabels: { tier: 'a' } },
  template: { metadata: { labels: { tier: 'a' } } },
})
const nameless = toSpec({ template: { spec: { containers: [{ image: 'web:1' }] } } })
const newImage = toSpec({ template: { spec: { containers: [{ name: 'web', image: 'web:2' }] } } })

const saysSelector: Expected = { differs: 'Kubernetes does not say that a DaemonSet needs a selector' }

/** What an object lacks that has no spec any more. */
function specless(plural: string): readonly string[] {
  const template = ['Invalid spec.template.metadata.labels', 'Required spec.template.spec.containers']
  if (plural === 'statefulsets') return ['Required spec.selector', ...template, 'Forbidden spec']
  return ['Required spec.selector', 'Invalid spec.selector', ...template]
}

/** What holds for every kind that makes Pods. */
function common(plural: string): readonly WriteCase[] {
  const update = changes(path(plural))
  const kept = plural === 'statefulsets' ? { serviceName: 'web', volumeClaimTemplates: [claim] } : {}
  const replace = replaces(path(plural), { metadata: { name: 'web' }, spec: { ...spec, ...kept } })
  return [
    replace(`${plural}: the object without its revision`, {}),
    replace(`${plural}: no spec`, { spec: null }, specless(plural), plural === 'daemonsets' ? saysSelector : {}),
    update(`${plural}: another image`, newImage),
    update(`${plural}: a container without name`, nameless, ['Required spec.template.spec.containers[0].name']),
    update(`${plural}: pods that run once`, toSpec({ template: { spec: { restartPolicy: 'Never' } } }), [
      'NotSupported spec.template.spec.restartPolicy',
    ]),
    update(`${plural}: a label of its own`, { metadata: { labels: { a: 'b' } } }),
    update(`${plural}: negative seconds`, toSpec({ minReadySeconds: -1 }), ['Invalid spec.minReadySeconds']),
    update(
      `${plural}: a selector that is none`,
      toSpec({ selector: { matchExpressions: [{ key: 'a', operator: 'x' }] } }),
      [
        ...(plural === 'statefulsets' ? ['Forbidden spec'] : ['Invalid spec.selector']),
        ...(plural === 'daemonsets' ? [] : ['Invalid spec.selector']),
        'Invalid spec.selector.matchExpressions[0].operator',
      ],
    ),
  ]
}

const deployment = changes(path('deployments'))
const replicaSet = changes(path('replicasets'))
const daemonSet = changes(path('daemonsets'))
const statefulSet = changes(path('statefulsets'))
const mismatch = 'Invalid spec.template.metadata.labels'

const specs = [
  deployment('another selector', selector, [mismatch, 'Invalid spec.selector']),
  deployment('another selector with its labels', relabeled, ['Invalid spec.selector']),
  deployment('no selector', toSpec({ selector: null }), ['Required spec.selector', mismatch, 'Invalid spec.selector']),
  deployment('fewer than no replicas', toSpec({ replicas: -1 }), ['Invalid spec.replicas']),
  deployment('another strategy', toSpec({ strategy: { type: 'Recreate', rollingUpdate: null } })),
  deployment('another strategy with the old pace', toSpec({ strategy: { type: 'Recreate' } }), [
    'Forbidden spec.strategy.rollingUpdate',
  ]),
  deployment('paused', toSpec({ paused: true })),
  deployment('a deadline of nothing', toSpec({ progressDeadlineSeconds: 0 }), ['Invalid spec.progressDeadlineSeconds']),
  replicaSet('another selector', selector, [mismatch, 'Invalid spec.selector']),
  replicaSet('another selector with its labels', relabeled, ['Invalid spec.selector']),
  replicaSet('fewer than no replicas', toSpec({ replicas: -1 }), ['Invalid spec.replicas']),
  daemonSet('another selector', selector, [mismatch, 'Invalid spec.selector']),
  daemonSet('another selector with its labels', relabeled, ['Invalid spec.selector']),
  daemonSet('another strategy', toSpec({ updateStrategy: { type: 'OnDelete', rollingUpdate: null } })),
  daemonSet(
    'a strategy that is none',
    toSpec({ updateStrategy: { type: 'Recreate' } }),
    ['NotSupported spec.updateStrategy'],
    otherWords.goFields,
  ),
  daemonSet('a negative history', toSpec({ revisionHistoryLimit: -1 }), ['Invalid spec.revisionHistoryLimit']),
]

const setSpecs = [
  statefulSet('more replicas', toSpec({ replicas: 3 })),
  statefulSet('fewer than no replicas', toSpec({ replicas: -1 }), ['Invalid spec.replicas']),
  statefulSet('another first ordinal', toSpec({ ordinals: { start: 2 } })),
  statefulSet('a negative first ordinal', toSpec({ ordinals: { start: -2 } }), ['Invalid spec.ordinals.start']),
  statefulSet('another strategy', toSpec({ updateStrategy: { type: 'OnDelete', rollingUpdate: null } })),
  statefulSet('another partition', toSpec({ updateStrategy: { rollingUpdate: { partition: 2 } } })),
  statefulSet('another history', toSpec({ revisionHistoryLimit: 2 })),
  statefulSet('a negative history', toSpec({ revisionHistoryLimit: -2 })),
  statefulSet('another retention', toSpec({ persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' } })),
  statefulSet('later readiness', toSpec({ minReadySeconds: 2 })),
  statefulSet('another Service', toSpec({ serviceName: 'other' }), ['Forbidden spec']),
  statefulSet('another Service with a dot', toSpec({ serviceName: 'a.b' }), ['Forbidden spec']),
  statefulSet('pods in parallel', toSpec({ podManagementPolicy: 'Parallel' }), ['Forbidden spec']),
  statefulSet('a way of managing pods that is none', toSpec({ podManagementPolicy: 'Loose' }), [
    'Invalid spec.podManagementPolicy',
    'Forbidden spec',
  ]),
  statefulSet('another selector', selector, [mismatch, 'Forbidden spec']),
  statefulSet('another selector with its labels', relabeled, ['Forbidden spec']),
  statefulSet('no claims', toSpec({ volumeClaimTemplates: null }), ['Forbidden spec']),
  statefulSet(
    'larger claims',
    toSpec({
      volumeClaimTemplates: [{ ...claim, spec: { ...claim.spec, resources: { requests: { storage: '2Gi' } } } }],
    }),
    ['Forbidden spec'],
  ),
  statefulSet('claims of no size', toSpec({ volumeClaimTemplates: [{ ...claim, spec: { accessModes: ['Often'] } }] }), [
    'Forbidden spec',
  ]),
]

const deploymentStatus = changes(path('deployments', '/status'))
const replicaSetStatus = changes(path('replicasets', '/status'))
const daemonSetStatus = changes(path('daemonsets', '/status'))
const statefulSetStatus = changes(path('statefulsets', '/status'))
const forgotten = (status: typeof deploymentStatus, title: string, collisionCount: number | null) =>
  status(title, toStatus({ collisionCount }), ['Invalid status.collisionCount'])
const below = (...names: readonly string[]): readonly [object, readonly string[]] => [
  toStatus(Object.fromEntries(names.map((name) => [name, -1]))),
  names.map((name) => `Invalid status.${name}`),
]

const statuses = [
  ...[deploymentStatus, daemonSetStatus, statefulSetStatus].flatMap((status) => [
    forgotten(status, 'fewer collisions', 1),
    forgotten(status, 'no collisions', null),
    status('more collisions', toStatus({ collisionCount: 3 })),
  ]),
  deploymentStatus('counts', toStatus({ replicas: 3, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 1 })),
  deploymentStatus(
    'negative counts',
    ...below(
      'replicas',
      'updatedReplicas',
      'readyReplicas',
      'availableReplicas',
      'unavailableReplicas',
      'observedGeneration',
      'collisionCount',
    ),
  ),
  deploymentStatus(
    'more of a kind than there are',
    toStatus({ updatedReplicas: 1, readyReplicas: 1, availableReplicas: 2 }),
    ['Invalid status.updatedReplicas', 'Invalid status.readyReplicas', 'Invalid status.availableReplicas'],
  ),
  deploymentStatus('more available than ready', toStatus({ replicas: 2, readyReplicas: 1, availableReplicas: 2 }), [
    'Invalid status.availableReplicas',
  ]),
  replicaSetStatus(
    'counts',
    toStatus({ replicas: 3, fullyLabeledReplicas: 2, readyReplicas: 2, availableReplicas: 1 }),
  ),
  replicaSetStatus(
    'negative counts',
    ...below('replicas', 'fullyLabeledReplicas', 'readyReplicas', 'availableReplicas', 'observedGeneration'),
  ),
  replicaSetStatus(
    'more of a kind than there are',
    toStatus({ fullyLabeledReplicas: 1, readyReplicas: 1, availableReplicas: 2 }),
    ['Invalid status.fullyLabeledReplicas', 'Invalid status.readyReplicas', 'Invalid status.availableReplicas'],
  ),
  daemonSetStatus(
    'counts',
    toStatus({ currentNumberScheduled: 1, numberMisscheduled: 2, desiredNumberScheduled: 0, numberReady: 5 }),
  ),
  daemonSetStatus(
    'negative counts',
    ...below(
      'currentNumberScheduled',
      'numberMisscheduled',
      'desiredNumberScheduled',
      'numberReady',
      'observedGeneration',
      'updatedNumberScheduled',
      'numberAvailable',
      'numberUnavailable',
      'collisionCount',
    ),
  ),
  statefulSetStatus(
    'counts',
    toStatus({ replicas: 3, currentReplicas: 1, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 1 }),
  ),
  statefulSetStatus(
    'negative counts',
    ...below(
      'replicas',
      'readyReplicas',
      'currentReplicas',
      'updatedReplicas',
      'availableReplicas',
      'observedGeneration',
      'collisionCount',
    ),
  ),
  statefulSetStatus(
    'more of a kind than there are',
    toStatus({ currentReplicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 2 }),
    [
      'Invalid status.currentReplicas',
      'Invalid status.updatedReplicas',
      'Invalid status.readyReplicas',
      'Invalid status.availableReplicas',
    ],
  ),
  deploymentStatus('a spec, which it leaves', { spec: { replicas: -1 } }),
]

export const workloadUpdateCases: KindCases = {
  title: 'updates of workloads',
  fixtures: [
    fixture('deployments'),
    fixture('replicasets'),
    fixture('daemonsets'),
    fixture('statefulsets', { serviceName: 'web', volumeClaimTemplates: [claim] }),
  ],
  cases: [
    ...['deployments', 'replicasets', 'statefulsets', 'daemonsets'].flatMap(common),
    ...specs,
    ...setSpecs,
    ...statuses,
  ],
}

/** A size is written the same way for all that have one. */
function scaleCases(plural: string): readonly WriteCase[] {
  const scale = path(plural, '/scale')
  const replace = replaces(scale, { metadata: { name: 'sized' }, spec: { replicas: 2 } })
  return [
    replace(`${plural}: a size`, {}),
    replace(`${plural}: nothing`, { spec: null }),
    replace(`${plural}: a negative size`, { spec: { replicas: -1 } }, ['Invalid spec.replicas']),
    replace(`${plural}: a size that is a text`, { spec: { replicas: 'two' } }, [], { code: 400, reason: 'BadRequest' }),
    replace(`${plural}: a size beyond 32 bits`, { spec: { replicas: 2 ** 31 } }, [], {
      code: 400,
      reason: 'BadRequest',
    }),
    replace(`${plural}: another name`, { metadata: { name: 'other' } }, [], { code: 400, reason: 'BadRequest' }),
    replace(`${plural}: another namespace`, { metadata: { name: 'sized', namespace: 'kube-system' } }, [], {
      code: 400,
      reason: 'BadRequest',
    }),
    replace(`${plural}: a name of two parts`, { metadata: { name: 'sized', labels: { 'a b': 'c d' } } }, [
      'Invalid metadata.labels',
    ]),
    replace(`${plural}: another kind`, { apiVersion: 'apps/v1', kind: 'Deployment' }, [], {
      code: 400,
      reason: 'BadRequest',
    }),
    replace(`${plural}: another uid`, { metadata: { name: 'sized', uid: 'other' } }, [], {
      code: 409,
      reason: 'Conflict',
    }),
    replace(`${plural}: an old revision`, { metadata: { name: 'sized', resourceVersion: '1' } }, [], {
      code: 409,
      reason: 'Conflict',
    }),
    changes(scale)(`${plural}: a size as a patch`, { spec: { replicas: 3 } }),
    changes(scale)(`${plural}: a negative size as a patch`, { spec: { replicas: -3 } }, ['Invalid spec.replicas']),
    changes(`${apps}/${plural}/absent/scale`)(`${plural}: a size of what is absent`, { spec: { replicas: 3 } }, [], {
      code: 404,
      reason: 'NotFound',
    }),
  ].map((each) => ({ ...each, path: each.path.replace('/web/scale', '/sized/scale') }))
}

const scaled = ['deployments', 'replicasets', 'statefulsets']
const sized = (plural: string): Fixture => ({
  path: `${apps}/${plural}`,
  body: { metadata: { name: 'sized' }, spec: { ...spec, serviceName: undefined } },
})

export const scaleUpdateCases: KindCases = {
  title: 'Scales',
  fixtures: scaled.map(sized),
  cases: scaled.flatMap(scaleCases),
}

const revisionPath = `${apps}/controllerrevisions`
const revision = creates(revisionPath, { metadata: { name: 'new' }, revision: 1, data: { spec: {} } })
const noObject: Expected = {
  code: 400,
  reason: 'BadRequest',
  differs: 'data that is no object has another type than declared, which is a 400 in every kind',
}
const updateRevision = changes(`${revisionPath}/first`)

export const revisionCases: KindCases = {
  title: 'ControllerRevisions',
  fixtures: [{ path: revisionPath, body: { metadata: { name: 'first' }, revision: 1, data: { a: 1 } } }],
  cases: [
    revision('nothing special', {}),
    revision('a name in capitals', { metadata: { name: 'New' } }, ['Invalid metadata.name']),
    revision('a negative revision', { revision: -1 }, ['Invalid revision']),
    revision('no revision', { revision: null }),
    revision('no data', { data: null }, ['Required data']),
    revision('data that is a text', { data: 'a' }, [], noObject),
    revision('data that is a list', { data: [] }, [], noObject),
    revision('data that is a number', { data: 1 }, [], noObject),
    revision('empty data', { data: {} }),
    replaces(`${revisionPath}/first`, { metadata: { name: 'first' }, revision: 3, data: { a: 1 } })(
      'the object without its resourceVersion',
      {},
    ),
    updateRevision('another revision', { revision: 2 }),
    updateRevision('a negative revision', { revision: -2 }, ['Invalid revision']),
    updateRevision('other data', { data: { a: 2 } }, ['Invalid data']),
    updateRevision('no data', { data: null }, ['Invalid data']),
  ],
}
