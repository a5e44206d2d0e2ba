import { change, changeStatus, create, type Fields, type Kind, type ObjectCase, objectCases } from './object-case.ts'

const collection = '/apis/batch/v1/namespaces/default/jobs'
const podSpec = { restartPolicy: 'Never', containers: [{ name: 'main', image: 'main:1' }] }
const kind: Kind = { collection, valid: { metadata: { name: 'new' }, spec: { template: { spec: podSpec } } } }

const spec = (fields: object) => ({ spec: fields })
const indexed = (fields: object) => spec({ completionMode: 'Indexed', completions: 3, ...fields })
const pods = (fields: object) => spec({ template: { spec: fields } })
const labels = (fields: object) => spec({ template: { metadata: { labels: fields } } })
const onFailure = (rule: object, fields: object = {}) => spec({ podFailurePolicy: { rules: [rule] }, ...fields })
const onCodes = (codes: object) =>
  onFailure({ action: 'FailJob', onExitCodes: { operator: 'In', values: [1], ...codes } })
const onConditions = (...onPodConditions: readonly object[]) => onFailure({ action: 'Ignore', onPodConditions })
const onSuccess = (...rules: readonly object[]) => indexed({ successPolicy: { rules } })
const many = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

const failure0 = 'spec.podFailurePolicy.rules[0]'
const success0 = 'spec.successPolicy.rules[0]'
const at = 'spec.template'
const goFields = { words: 'Kubernetes prints the fields of its Go type' }
/** The message shows the uid of the Job, which each server chooses. */
const showsUid = (each: ObjectCase): ObjectCase => ({ ...each, words: 'the message shows the uid of the Job' })
const inOtherWords = (each: ObjectCase): ObjectCase => ({ ...each, ...goFields })

const creates: readonly ObjectCase[] = [
  create('nothing special', {}),
  create('a name in capitals', { metadata: { name: 'New' } }, 'Invalid metadata.name'),
  create('a name with a dot', { metadata: { name: 'a.b' } }),
  create(
    'counts below zero',
    spec({ parallelism: -1, completions: -1, backoffLimit: -1 }),
    ...['Invalid spec.parallelism', 'Invalid spec.completions', 'Invalid spec.backoffLimit'],
  ),
  create(
    'times below zero',
    spec({ activeDeadlineSeconds: -1, ttlSecondsAfterFinished: -1 }),
    ...['Invalid spec.activeDeadlineSeconds', 'Invalid spec.ttlSecondsAfterFinished'],
  ),
  create('a mode that is none', spec({ completionMode: 'Some' }), 'NotSupported spec.completionMode'),
  create('indexes', indexed({})),
  create('indexes without a number', indexed({ completions: null, parallelism: 1 }), 'Required spec.completions'),
  create(
    'too many indexes at once',
    indexed({ completions: 200_000, parallelism: 100_001 }),
    'Invalid spec.parallelism',
  ),
  create('a limit per index', indexed({ backoffLimitPerIndex: 1, maxFailedIndexes: 2 })),
  create('a limit per index below zero', indexed({ backoffLimitPerIndex: -1 }), 'Invalid spec.backoffLimitPerIndex'),
  create('a limit per index without indexes', spec({ backoffLimitPerIndex: 1 }), 'Invalid spec.backoffLimitPerIndex'),
  create('failed indexes without a limit', indexed({ maxFailedIndexes: 1 }), 'Required spec.backoffLimitPerIndex'),
  create(
    'failed indexes without indexes',
    spec({ maxFailedIndexes: 1 }),
    'Required spec.backoffLimitPerIndex',
    'Invalid spec.maxFailedIndexes',
  ),
  create(
    'more failed indexes than indexes',
    indexed({ backoffLimitPerIndex: 1, maxFailedIndexes: 4 }),
    'Invalid spec.maxFailedIndexes',
  ),
  create(
    'very many indexes',
    indexed({ completions: 100_001, backoffLimitPerIndex: 1, parallelism: 10_001 }),
    'Required spec.maxFailedIndexes',
    'Invalid spec.parallelism',
  ),
  create(
    'very many failed indexes',
    indexed({ completions: 100_001, backoffLimitPerIndex: 1, maxFailedIndexes: 10_001 }),
    'Invalid spec.maxFailedIndexes',
  ),
  create(
    'a name too long for the pod of its last index',
    { metadata: { name: 'a'.repeat(62) }, ...indexed({}) },
    'Invalid metadata.name',
  ),
  create('another manager', spec({ managedBy: 'example.com/queue' })),
  create('a manager without a domain', spec({ managedBy: 'queue' }), 'Invalid spec.managedBy'),
  create('no manager', spec({ managedBy: '' }), 'Required spec.managedBy'),
  create('a manager of a domain in capitals', spec({ managedBy: 'EXAMPLE/queue' }), 'Invalid spec.managedBy'),
  create('a manager with a blank', spec({ managedBy: 'example.com/a b' }), 'Invalid spec.managedBy'),
  create('a manager with a long name', spec({ managedBy: `example.com/${'a'.repeat(60)}` }), 'TooLong spec.managedBy'),
  create('no template', { spec: null }, ...[`Required ${at}.spec.containers`, `Required ${at}.spec.restartPolicy`]),
  create('pods that always run', pods({ restartPolicy: 'Always' }), `Required ${at}.spec.restartPolicy`),
  create('pods that say nothing of it', pods({ restartPolicy: null }), `Required ${at}.spec.restartPolicy`),
  create('pods that start again', pods({ restartPolicy: 'OnFailure' })),
  create('a deadline of the pods', pods({ activeDeadlineSeconds: 5 })),
  create('a pod label with a blank', labels({ a: 'b c' }), `Invalid ${at}.labels`, 'Invalid metadata.labels'),
  showsUid(
    create(
      'a selector',
      spec({ selector: { matchLabels: { app: 'web' } } }),
      ...['Invalid spec.selector', 'Invalid spec.template.metadata.labels'],
    ),
  ),
  showsUid(
    create(
      'a selector and its labels',
      spec({ selector: { matchLabels: { app: 'web' } }, template: { metadata: { labels: { app: 'web' } } } }),
      'Invalid spec.selector',
    ),
  ),
  create(
    'a selector of its own',
    spec({
      manualSelector: true,
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } } },
    }),
  ),
  create(
    'a selector of its own without labels',
    spec({ manualSelector: true, selector: { matchLabels: { app: 'web' } } }),
    'Invalid spec.template.metadata.labels',
  ),
  create(
    'no selector of its own',
    spec({ manualSelector: true }),
    ...['Required spec.selector', 'Invalid spec.template.metadata.labels'],
  ),
  showsUid(
    create(
      'a generated label of another Job',
      labels({ 'job-name': 'other' }),
      'Invalid spec.template.metadata.labels[job-name]',
    ),
  ),
  create('when pods are replaced', spec({ podReplacementPolicy: 'Failed' })),
  create('pods replaced sometimes', spec({ podReplacementPolicy: 'Some' }), 'NotSupported spec.podReplacementPolicy'),
]

const failurePolicies: readonly ObjectCase[] = [
  create('a failure policy', onCodes({})),
  create('a failure policy without rules', spec({ podFailurePolicy: { rules: [] } })),
  create(
    'a failure policy of pods that start again',
    onFailure(
      { action: 'Ignore', onExitCodes: { operator: 'In', values: [1] } },
      {
        template: { spec: { restartPolicy: 'OnFailure' } },
      },
    ),
    `Invalid ${at}.spec.restartPolicy`,
  ),
  create(
    'a failure policy that replaces pods before they end',
    onFailure(
      { action: 'Ignore', onExitCodes: { operator: 'In', values: [1] } },
      {
        podReplacementPolicy: 'TerminatingOrFailed',
      },
    ),
    'NotSupported spec.podReplacementPolicy',
  ),
  create(
    'many rules',
    spec({
      podFailurePolicy: {
        rules: many(21).map((code) => ({ action: 'Count', onExitCodes: { operator: 'In', values: [code] } })),
      },
    }),
    'TooMany spec.podFailurePolicy.rules',
  ),
  create('no action', onFailure({ onExitCodes: { operator: 'In', values: [1] } }), `Required ${failure0}.action`),
  create(
    'an action that is none',
    onFailure({ action: 'Some', onExitCodes: { operator: 'In', values: [1] } }),
    `NotSupported ${failure0}.action`,
  ),
  create(
    'an index that fails without a limit',
    onFailure({ action: 'FailIndex', onExitCodes: { operator: 'In', values: [1] } }),
    `Invalid ${failure0}.action`,
  ),
  create('a rule without conditions', onFailure({ action: 'Ignore' }), `Invalid ${failure0}`),
  create(
    'a rule of both kinds',
    onFailure({
      action: 'Ignore',
      onExitCodes: { operator: 'In', values: [1] },
      onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }],
    }),
    `Invalid ${failure0}`,
  ),
  create('no operator', onCodes({ operator: '' }), `Required ${failure0}.onExitCodes.operator`),
  create('an operator that is none', onCodes({ operator: 'Some' }), `NotSupported ${failure0}.onExitCodes.operator`),
  create('a container', onCodes({ containerName: 'main' })),
  create('another container', onCodes({ containerName: 'other' }), `Invalid ${failure0}.onExitCodes.containerName`),
  inOtherWords(create('no codes', onCodes({ values: [] }), `Invalid ${failure0}.onExitCodes.values`)),
  create('many codes', onCodes({ values: many(256) }), `TooMany ${failure0}.onExitCodes.values`),
  create('the code of success', onCodes({ values: [0] }), `Invalid ${failure0}.onExitCodes.values[0]`),
  create('all but success', onCodes({ operator: 'NotIn', values: [0] })),
  create('a code twice', onCodes({ values: [1, 1] }), `Duplicate ${failure0}.onExitCodes.values[1]`),
  inOtherWords(create('codes in no order', onCodes({ values: [2, 1] }), `Invalid ${failure0}.onExitCodes.values`)),
  create('a condition', onConditions({ type: 'DisruptionTarget' })),
  create(
    'a condition with a blank',
    onConditions({ type: 'a b', status: 'Some' }),
    `Invalid ${failure0}.onPodConditions[0].type`,
    `NotSupported ${failure0}.onPodConditions[0].status`,
  ),
  create(
    'many conditions',
    onConditions(...many(21).map((number) => ({ type: `T${number}`, status: 'True' }))),
    `TooMany ${failure0}.onPodConditions`,
  ),
]

const successPolicies: readonly ObjectCase[] = [
  create('a success policy', onSuccess({ succeededIndexes: '0,2' })),
  create('a success policy of a number', onSuccess({ succeededCount: 1 })),
  create('a success policy without rules', onSuccess(), 'Required spec.successPolicy.rules'),
  create(
    'a success policy of many rules',
    onSuccess(...many(21).map(() => ({ succeededCount: 1 }))),
    ...['TooMany spec.successPolicy.rules'],
  ),
  create('a success policy of nothing', onSuccess({}), `Required ${success0}`),
  inOtherWords(
    create(
      'a success policy without indexes',
      spec({ successPolicy: { rules: [{ succeededCount: 1 }] } }),
      'Invalid spec.successPolicy',
    ),
  ),
  create('more than all', onSuccess({ succeededCount: 4 }), `Invalid ${success0}.succeededCount`),
  create('fewer than none', onSuccess({ succeededCount: -1 }), `Invalid ${success0}.succeededCount`),
  create(
    'more than those named',
    onSuccess({ succeededIndexes: '0-1', succeededCount: 3 }),
    `Invalid ${success0}.succeededCount`,
  ),
  ...['3', '1-0', 'a', '0-1-2', '1,0', '0-', '1-1', ',', '0,0-1', '-1'].map((text) =>
    create(`indexes ${text}`, onSuccess({ succeededIndexes: text }), `Invalid ${success0}.succeededIndexes`),
  ),
]

const started = { startTime: '2026-01-01T00:00:00Z' }
const condition = (type: string, status = 'True') => ({ type, status })
const ends = (...types: readonly string[]) => ({ conditions: types.map((type) => condition(type)) })
const status = (title: string, fields: object, ...causes: readonly string[]) =>
  changeStatus(title, {}, { status: fields }, ...causes)
const indexedStatus = (title: string, fields: object, ...causes: readonly string[]) =>
  changeStatus(title, indexed({ backoffLimitPerIndex: 1 }), { status: fields }, ...causes)
const conditions = 'Invalid status.conditions'

const statuses: readonly ObjectCase[] = [
  status('counts', { active: 1, ready: 1, succeeded: 1, failed: 1, terminating: 1, ...started }),
  status(
    'counts below zero',
    { active: -1, ready: -2, succeeded: -1, failed: -1, terminating: -1 },
    ...[
      'Invalid status.active',
      'Invalid status.ready',
      'Invalid status.succeeded',
      'Invalid status.failed',
      'Invalid status.terminating',
    ],
  ),
  status('more ready than active', { active: 1, ready: 2 }, 'Invalid status.ready'),
  status('uncounted pods', { uncountedTerminatedPods: { succeeded: ['a'], failed: ['b'] } }),
  status(
    'uncounted pods twice',
    { uncountedTerminatedPods: { succeeded: ['a', 'a'], failed: ['a', ''] } },
    ...[
      'Duplicate status.uncountedTerminatedPods.succeeded[1]',
      'Duplicate status.uncountedTerminatedPods.failed[0]',
      'Invalid status.uncountedTerminatedPods.failed[1]',
    ],
  ),
  status('a success', {
    ...started,
    completionTime: '2026-01-01T00:00:01Z',
    ...ends('SuccessCriteriaMet', 'Complete'),
  }),
  status(
    'a success without times',
    ends('SuccessCriteriaMet', 'Complete'),
    ...['Required status.completionTime', 'Required status.startTime'],
  ),
  status(
    'a success before its start',
    { ...started, completionTime: '2025-01-01T00:00:01Z', ...ends('SuccessCriteriaMet', 'Complete') },
    'Invalid status.completionTime',
  ),
  status('a success at once', { ...started, completionTime: '2026-01-01T00:00:01Z', ...ends('Complete') }, conditions),
  status(
    'an end without success',
    { ...started, completionTime: '2026-01-01T00:00:01Z' },
    'Invalid status.completionTime',
  ),
  status('a failure', { ...started, ...ends('FailureTarget', 'Failed') }),
  status('a failure at once', { ...started, ...ends('Failed') }, conditions),
  status(
    'success and failure',
    {
      ...started,
      completionTime: '2026-01-01T00:00:01Z',
      ...ends('SuccessCriteriaMet', 'Complete', 'FailureTarget', 'Failed'),
    },
    conditions,
  ),
  inOtherWords(
    status(
      'an end with pods',
      {
        ...started,
        active: 1,
        terminating: 1,
        uncountedTerminatedPods: { failed: ['a'] },
        ...ends('FailureTarget', 'Failed'),
      },
      'Invalid status.active',
      'Invalid status.terminating',
      'Invalid status.uncountedTerminatedPods',
    ),
  ),
  status('completed indexes without indexes', { completedIndexes: '0' }, 'Invalid status.completedIndexes'),
  status('failed indexes without a limit', { failedIndexes: '0' }, 'Invalid status.failedIndexes'),
  indexedStatus('indexes', { completedIndexes: '0', failedIndexes: '1-2' }),
  indexedStatus(
    'indexes that overlap',
    { completedIndexes: '0-1', failedIndexes: '1-2' },
    'Invalid status.failedIndexes',
  ),
  indexedStatus(
    'indexes that are none',
    { completedIndexes: '0-3', failedIndexes: 'a' },
    ...['Invalid status.completedIndexes', 'Invalid status.failedIndexes'],
  ),
]

const job = (fields: Fields) => ({ spec: { suspend: true, ...fields } })
const updates: readonly ObjectCase[] = [
  change('the parallelism', {}, spec({ parallelism: 5, backoffLimit: 1, ttlSecondsAfterFinished: 1 })),
  change('the completions', {}, spec({ completions: 5 }), 'Invalid spec.completions'),
  change('the completions of indexes', indexed({ parallelism: 3 }), spec({ completions: 5, parallelism: 5 })),
  change('only the completions of indexes', indexed({}), spec({ completions: 5 }), 'Invalid spec.completions'),
  change('no completions of indexes', indexed({}), spec({ completions: null }), 'Required spec.completions'),
  inOtherWords(change('the template', {}, pods({ terminationGracePeriodSeconds: 5 }), 'Invalid spec.template')),
  inOtherWords(change('where pods run', {}, pods({ nodeSelector: { a: 'b' } }), 'Invalid spec.template')),
  change('where the pods of a waiting Job run', job({}), pods({ nodeSelector: { a: 'b' }, tolerations: [] })),
  change('labels of the pods of a waiting Job', job({}), labels({ a: 'b' })),
  change(
    'node affinity of a waiting Job',
    job({}),
    pods({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'Exists' }] }],
          },
        },
      },
    }),
  ),
  inOtherWords(
    change(
      'an image of a waiting Job',
      job({}),
      pods({ containers: [{ name: 'main', image: 'other' }] }),
      'Invalid spec.template',
    ),
  ),
  change('the mode', {}, spec({ completionMode: 'Indexed' }), 'Invalid spec.completionMode'),
  change('the manager', {}, spec({ managedBy: 'example.com/queue' }), 'Invalid spec.managedBy'),
  change('the limit per index', indexed({}), spec({ backoffLimitPerIndex: 1 }), 'Invalid spec.backoffLimitPerIndex'),
  inOtherWords(
    change(
      'the failure policy',
      { spec: { podReplacementPolicy: 'Failed' } },
      spec({ podFailurePolicy: { rules: [] } }),
      'Invalid spec.podFailurePolicy',
    ),
  ),
  inOtherWords(
    change(
      'the success policy',
      indexed({}),
      spec({ successPolicy: { rules: [{ succeededCount: 1 }] } }),
      'Invalid spec.successPolicy',
    ),
  ),
]

export const jobCases = objectCases('Jobs', kind, [
  ...creates,
  ...failurePolicies,
  ...successPolicies,
  ...updates,
  ...statuses,
])
