import { change, changeStatus, create, type Kind, type ObjectCase, objectCases, replace } from './object-case.ts'

const kind: Kind = {
  collection: '/apis/policy/v1/namespaces/default/poddisruptionbudgets',
  valid: { metadata: { name: 'new' }, spec: { selector: { matchLabels: { app: 'web' } } } },
}
const spec = (fields: object) => ({ spec: fields })
const condition = (fields: object) => ({
  conditions: [
    { type: 'T', status: 'True', reason: 'R', message: '', lastTransitionTime: '2026-01-01T00:00:00Z', ...fields },
  ],
})
const status = (title: string, fields: object, ...causes: readonly string[]) =>
  changeStatus(title, {}, { status: fields }, ...causes)
const at = 'status.conditions[0]'
const inOtherWords = (each: ObjectCase): ObjectCase => ({
  ...each,
  words: 'Kubernetes prints the fields of its Go type',
})

export const disruptionBudgetCases = objectCases('PodDisruptionBudgets', kind, [
  create('nothing special', {}),
  create('no spec', { spec: null }),
  create('a number', spec({ minAvailable: 1 })),
  create('a share', spec({ maxUnavailable: '25%' })),
  inOtherWords(create('both', spec({ minAvailable: 1, maxUnavailable: 1 }), 'Invalid spec')),
  create('less than none', spec({ minAvailable: -1 }), 'Invalid spec.minAvailable'),
  create('more than all', spec({ maxUnavailable: '101%' }), 'Invalid spec.maxUnavailable'),
  create('a share that is none', spec({ minAvailable: 'half' }), 'Invalid spec.minAvailable'),
  create('all pods', spec({ selector: { matchLabels: null } })),
  create(
    'a label with a blank',
    spec({ selector: { matchLabels: { app: 'a b' } } }),
    'Invalid spec.selector.matchLabels',
  ),
  create('a policy', spec({ unhealthyPodEvictionPolicy: 'AlwaysAllow' })),
  create(
    'a policy that is none',
    spec({ unhealthyPodEvictionPolicy: 'Never' }),
    'NotSupported spec.unhealthyPodEvictionPolicy',
  ),
  create('a name in capitals', { metadata: { name: 'New' } }),
  create('a name with a slash', { metadata: { name: 'a/b' } }, 'Invalid metadata.name'),
  change('the number', spec({ minAvailable: 1 }), spec({ minAvailable: 2 })),
  change('the selector', {}, spec({ selector: { matchLabels: { app: 'other' } } })),
  replace('all without a revision', {}, {}, 'Invalid metadata.resourceVersion'),
  status('counts', {
    disruptionsAllowed: 1,
    currentHealthy: 2,
    desiredHealthy: 1,
    expectedPods: 2,
    observedGeneration: 1,
  }),
  status(
    'counts below zero',
    { disruptionsAllowed: -1, currentHealthy: -1, desiredHealthy: -1, expectedPods: -1 },
    ...[
      'Invalid status.disruptionsAllowed',
      'Invalid status.currentHealthy',
      'Invalid status.desiredHealthy',
      'Invalid status.expectedPods',
    ],
  ),
  status('a condition', condition({})),
  status('a condition without a reason', condition({ reason: '' }), `Required ${at}.reason`),
  status('a reason with a blank', condition({ reason: 'a b' }), `Invalid ${at}.reason`),
  status('a condition that is neither', condition({ status: 'Maybe' }), `NotSupported ${at}.status`),
  status('a condition without a time', condition({ lastTransitionTime: null }), `Required ${at}.lastTransitionTime`),
])
