import { creates, type Expected, type KindCases, otherWords, type WriteCase } from './write-case.ts'

const apps = '/apis/apps/v1/namespaces/default'
const labels = { app: 'web' }
const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web:1' }] } }
const spec = { selector: { matchLabels: labels }, template }
const valid = { metadata: { name: 'new' }, spec }
const kinds = ['deployments', 'replicasets', 'statefulsets', 'daemonsets'] as const
type Plural = (typeof kinds)[number]

const make = (plural: Plural) => {
  const create = creates(`${apps}/${plural}`, valid)
  return (title: string, change: object, causes: readonly string[] = [], answer: Expected = {}) =>
    create(`${plural}: ${title}`, { spec: { ...spec, ...change } }, causes, answer)
}
const named = (plural: Plural, name: string, ...causes: readonly string[]) =>
  creates(`${apps}/${plural}`, valid)(
    `${plural}: a name ${JSON.stringify(name.slice(0, 8))} of ${name.length} characters`,
    { metadata: { name } },
    causes,
  )

const mismatch = 'Invalid spec.template.metadata.labels'
const selected = (selector: object) => ({ selector })
const labelled = (metadata: object) => ({ template: { ...template, metadata: { labels, ...metadata } } })
const runs = (change: object) => ({ template: { ...template, spec: { ...template.spec, ...change } } })
const at = 'spec.template'

/** What holds for every kind that makes Pods. */
function common(plural: Plural): readonly WriteCase[] {
  const create = make(plural)
  const isSet = plural === 'statefulsets'
  const unusable = plural === 'daemonsets' ? [] : ['Invalid spec.selector']
  const expression = (change: object) => selected({ matchExpressions: [{ key: 'app', operator: 'In', ...change }] })
  const expression0 = 'spec.selector.matchExpressions[0]'
  return [
    named(plural, 'a.b', ...(isSet ? ['Invalid metadata.name'] : [])),
    named(plural, 'A', 'Invalid metadata.name'),
    named(plural, 'a'.repeat(64), ...(isSet ? ['Invalid metadata.name'] : [])),
    named(plural, 'a'.repeat(254), 'Invalid metadata.name'),
    create('by an expression', expression({ values: ['web', 'api'] })),
    create('by an expression that excludes its pods', expression({ values: ['api'] }), [mismatch]),
    create('In nothing', expression({}), [`Required ${expression0}.values`, ...unusable]),
    create('a value with a blank', expression({ values: ['web', 'a b'] }), [
      `Invalid ${expression0}.values[1]`,
      ...unusable,
    ]),
    create('a label with a blank', selected({ matchLabels: { app: 'a b' } }), [
      'Invalid spec.selector.matchLabels',
      ...unusable,
    ]),
    create('pods without labels', { template: { spec: template.spec } }, [mismatch]),
    create('no template', { template: null }, [mismatch, `Required ${at}.spec.containers`]),
    create('a template label with a blank', labelled({ labels: { app: 'web', a: 'b c' } }), [`Invalid ${at}.labels`]),
    create('a template annotation with a blank', labelled({ annotations: { 'a b': 'c' } }), [
      `Invalid ${at}.annotations`,
    ]),
    create('a template with a name', labelled({ name: 'A B', generateName: 'C D', finalizers: ['x y'] })),
    create('pods that run until they succeed', runs({ restartPolicy: 'OnFailure' }), [
      `NotSupported ${at}.spec.restartPolicy`,
    ]),
    create('pods that end', runs({ activeDeadlineSeconds: 1 }), [`Forbidden ${at}.spec.activeDeadlineSeconds`]),
    create('pods that never end', runs({ activeDeadlineSeconds: -1 }), [
      `Invalid ${at}.spec.activeDeadlineSeconds`,
      `Forbidden ${at}.spec.activeDeadlineSeconds`,
    ]),
    create('ready before they run', { minReadySeconds: -1 }, ['Invalid spec.minReadySeconds']),
  ]
}

const deployment = make('deployments')
const pace = (rollingUpdate: object | null, type: string | null = 'RollingUpdate') => ({
  strategy: { type, rollingUpdate },
})
const rolling = 'spec.strategy.rollingUpdate'

const deployments = [
  deployment('a pace without type', pace({ maxSurge: 1 }, null)),
  deployment('a pace of an empty type', pace({ maxSurge: 1 }, '')),
  deployment('a strategy without pace', pace(null)),
  deployment('another strategy', pace(null, 'Recreate')),
  deployment('another strategy with an empty pace', pace({}, 'Recreate'), [`Forbidden ${rolling}`]),
  deployment('a surge without percent sign', pace({ maxSurge: '5' }), [`Invalid ${rolling}.maxSurge`]),
  deployment('a surge of two percent signs', pace({ maxSurge: '5%%' }), [`Invalid ${rolling}.maxSurge`]),
  deployment('a negative part', pace({ maxSurge: '-5%' }), [`Invalid ${rolling}.maxSurge`]),
  deployment('a fraction of a percent', pace({ maxUnavailable: '1.5%' }), [`Invalid ${rolling}.maxUnavailable`]),
  deployment('all unavailable', pace({ maxUnavailable: '100%' })),
  deployment('less than none unavailable', pace({ maxUnavailable: -1 }), [`Invalid ${rolling}.maxUnavailable`]),
  deployment('no pace in percent', pace({ maxUnavailable: '0%', maxSurge: 0 }), [`Invalid ${rolling}.maxUnavailable`]),
  deployment('a surge that is a word and none unavailable', pace({ maxUnavailable: 0, maxSurge: 'x' }), [
    `Invalid ${rolling}.maxSurge`,
    `Invalid ${rolling}.maxUnavailable`,
  ]),
  deployment('no history', { revisionHistoryLimit: 0 }),
  deployment('less than no history', { revisionHistoryLimit: -1 }, ['Invalid spec.revisionHistoryLimit']),
  deployment('a deadline with the readiness', { minReadySeconds: 600 }, ['Invalid spec.progressDeadlineSeconds']),
  deployment('a negative deadline', { progressDeadlineSeconds: -1 }, ['Invalid spec.progressDeadlineSeconds']),
  deployment('the largest deadline', { progressDeadlineSeconds: 2 ** 31 - 1 }),
  deployment('no replicas', { replicas: 0 }),
]

const daemonSet = make('daemonsets')
const setPace = (rollingUpdate: object | null, type: string | null = 'RollingUpdate') => ({
  updateStrategy: { type, rollingUpdate },
})
const setRolling = 'spec.updateStrategy.rollingUpdate'

const daemonSets = [
  daemonSet('a pace without type', setPace({ maxUnavailable: 2 }, null)),
  daemonSet('another strategy', setPace(null, 'OnDelete')),
  daemonSet('another strategy with a pace', setPace({ maxUnavailable: 'x' }, 'OnDelete')),
  daemonSet('surge alone', setPace({ maxSurge: 1, maxUnavailable: 0 })),
  daemonSet('surge in percent', setPace({ maxSurge: '10%', maxUnavailable: '0%' })),
  daemonSet('surge beside the default', setPace({ maxSurge: 1 }), [`Invalid ${setRolling}.maxSurge`]),
  daemonSet('surge above all', setPace({ maxSurge: '101%', maxUnavailable: 0 }), [`Invalid ${setRolling}.maxSurge`]),
  daemonSet('a surge that is a word', setPace({ maxSurge: 'x' }), [`Invalid ${setRolling}.maxSurge`]),
  daemonSet('unavailable above all', setPace({ maxUnavailable: '101%' }), [`Invalid ${setRolling}.maxUnavailable`]),
  daemonSet('less than none unavailable', setPace({ maxUnavailable: -1 }), [`Invalid ${setRolling}.maxUnavailable`]),
  daemonSet('no history', { revisionHistoryLimit: 0 }),
  daemonSet('less than no history', { revisionHistoryLimit: -1 }, ['Invalid spec.revisionHistoryLimit']),
]

const statefulSet = make('statefulsets')
const claimed = (change: object, metadata: object = { name: 'data' }) => ({
  volumeClaimTemplates: [
    { metadata, spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...change } },
  ],
})
const claim0 = 'spec.volumeClaimTemplates[0].spec'
const claimSource = { kind: 'PersistentVolumeClaim', name: 'a' }
const asked = (requests: object | null) => claimed({ resources: { requests } })

const statefulSets = [
  statefulSet('an empty way of managing pods', { podManagementPolicy: '' }),
  statefulSet('pods in parallel', { podManagementPolicy: 'Parallel' }),
  statefulSet('a pace without type', setPace({ partition: 2 }, null)),
  statefulSet(
    'another strategy with a pace',
    setPace({ partition: 2 }, 'OnDelete'),
    [`Invalid ${setRolling}`],
    otherWords.goFields,
  ),
  statefulSet(
    'a strategy that is none with a pace',
    setPace({ partition: -2 }, 'Recreate'),
    ['Invalid spec.updateStrategy'],
    otherWords.goFields,
  ),
  statefulSet('retention in part', { persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete' } }),
  statefulSet('retention that is none', { persistentVolumeClaimRetentionPolicy: { whenScaled: 'x' } }, [
    'NotSupported spec.persistentVolumeClaimRetentionPolicy.whenScaled',
  ]),
  statefulSet('a first ordinal', { ordinals: { start: 3 } }),
  statefulSet('a Service in capitals', { serviceName: 'Web' }, ['Invalid spec.serviceName']),
  statefulSet('a Service of 64 characters', { serviceName: 'a'.repeat(64) }, ['Invalid spec.serviceName']),
  statefulSet('a claim', claimed({})),
  statefulSet('a claim of no spec', { volumeClaimTemplates: [{ metadata: { name: 'data' } }] }, [
    `Required ${claim0}.accessModes`,
    `Required ${claim0}.resources[storage]`,
  ]),
  statefulSet('a claim of no mode', claimed({ accessModes: [] }), [`Required ${claim0}.accessModes`]),
  statefulSet('a claim of two modes', claimed({ accessModes: ['ReadWriteOncePod', 'ReadWriteOnce'] }), [
    `Forbidden ${claim0}.accessModes`,
  ]),
  statefulSet('a claim of no size', asked(null), [`Required ${claim0}.resources[storage]`]),
  statefulSet('a claim of size 0', asked({ storage: '0' }), [`Invalid ${claim0}.resources[storage]`]),
  statefulSet('a claim of a negative size', asked({ storage: '-1Gi' }), [`Invalid ${claim0}.resources[storage]`]),
  statefulSet('a claim of a class in capitals', claimed({ storageClassName: 'Fast' }), [
    `Invalid ${claim0}.storageClassName`,
  ]),
  statefulSet('a claim of the empty class', claimed({ storageClassName: '' })),
  statefulSet('a claim of a volume mode that is none', claimed({ volumeMode: 'Tape' }), [
    `NotSupported ${claim0}.volumeMode`,
  ]),
  statefulSet('a claim of a selector that is none', claimed({ selector: { matchLabels: { 'a b': 'c' } } }), [
    `Invalid ${claim0}.selector.matchLabels`,
  ]),
  statefulSet('a claim of a source without kind', claimed({ dataSource: { name: 'a' } }), [
    `Required ${claim0}.dataSource.kind`,
    `Invalid ${claim0}.dataSource`,
  ]),
  statefulSet(
    'a claim of two sources',
    claimed({
      dataSource: { kind: 'PersistentVolumeClaim', name: 'a' },
      dataSourceRef: { kind: 'PersistentVolumeClaim', name: 'b' },
    }),
    [`Invalid ${claim0}`],
  ),
  statefulSet('a claim of attributes in capitals', claimed({ volumeAttributesClassName: 'A' }), [
    `Invalid ${claim0}.volumeAttributesClassName`,
  ]),
  statefulSet('a claim of an empty mode', claimed({ accessModes: [''] }), [`NotSupported ${claim0}.accessModes`]),
  statefulSet('one claim twice', {
    volumeClaimTemplates: [claimed({}), claimed({})].flatMap((each) => each.volumeClaimTemplates),
  }),
  statefulSet('a claim without name', claimed({}, {}), [
    'Required spec.template.spec.volumes[0].name',
    'Required spec.template.spec.volumes[0].persistentVolumeClaim.claimName',
  ]),
  statefulSet('a claim in capitals', claimed({}, { name: 'Data' }), ['Invalid spec.template.spec.volumes[0].name']),
  statefulSet('a claim of a source of the default group', claimed({ dataSource: { kind: 'Snapshot', name: 'a' } }), [
    `Invalid ${claim0}.dataSource`,
  ]),
  statefulSet(
    'a claim of a source of a group',
    claimed({ dataSourceRef: { apiGroup: 'example.com', kind: 'A', name: 'a' } }),
  ),
  statefulSet(
    'a claim of a source of a group in capitals',
    claimed({ dataSourceRef: { apiGroup: 'A', kind: 'A', name: 'a' } }),
    [`Invalid ${claim0}.dataSourceRef.apiGroup`],
  ),
  statefulSet('a claim of a source of no name', claimed({ dataSourceRef: { apiGroup: 'example.com' } }), [
    `Required ${claim0}.dataSourceRef.kind`,
    `Required ${claim0}.dataSourceRef.name`,
  ]),
  statefulSet('a claim of one source in both fields', claimed({ dataSource: claimSource, dataSourceRef: claimSource })),
  statefulSet('a claim of a source elsewhere', claimed({ dataSourceRef: { ...claimSource, namespace: 'other' } })),
  statefulSet(
    'a claim of a source in capitals elsewhere',
    claimed({ dataSourceRef: { ...claimSource, namespace: 'O' } }),
    [`Invalid ${claim0}.dataSourceRef.namespace`],
  ),
  statefulSet(
    'a claim of two sources, one elsewhere',
    claimed({ dataSource: claimSource, dataSourceRef: { ...claimSource, namespace: 'other' } }),
    [`Invalid ${claim0}`],
  ),
  statefulSet('a claim of half a byte', asked({ storage: '500m' })),
  statefulSet('a claim of an unknown resource', asked({ storage: '1Gi', tapes: '2' })),
]

export const workloadCreateCases: KindCases = {
  title: 'creates of workloads',
  fixtures: [],
  cases: [...kinds.flatMap(common), ...deployments, ...daemonSets, ...statefulSets],
}
