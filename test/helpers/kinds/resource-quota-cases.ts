import { change, changeStatus, create, type Kind, objectCases } from './object-case.ts'

const kind: Kind = {
  collection: '/api/v1/namespaces/default/resourcequotas',
  valid: { metadata: { name: 'new' }, spec: { hard: { 'example.com/none': '100' } } },
}
const spec = (fields: object) => ({ spec: fields })
const hard = (amounts: object) => spec({ hard: amounts })
const scoped = (scopes: readonly string[], amounts: object = { pods: '100' }) =>
  spec({ hard: { 'example.com/none': null, ...amounts }, scopes })
const selected = (...matchExpressions: readonly object[]) =>
  spec({ hard: { 'example.com/none': null, pods: '100' }, scopeSelector: { matchExpressions } })
const at = 'spec.scopeSelector.matchExpressions'
const words = { words: 'Kubernetes prints the fields of its Go type' }

export const resourceQuotaCases = objectCases('ResourceQuotas', kind, [
  create('nothing special', {}),
  create('no spec', { spec: null }),
  create(
    'every usual resource',
    hard({ pods: '5', 'requests.cpu': '1', 'limits.memory': '1Gi', 'services.nodeports': '0' }),
  ),
  create('a number of objects', hard({ 'count/deployments.apps': '5', 'count/pods': '5' })),
  create('huge pages', hard({ 'requests.hugepages-2Mi': '4Mi', 'hugepages-1Gi': '1Gi' })),
  create('a device', hard({ 'requests.example.com/gpu': '4' })),
  create('a resource that is none', hard({ colour: '1' }), 'Invalid spec.hard[colour]'),
  create('storage of nothing', hard({ storage: '1' }), 'Invalid spec.hard[storage]'),
  create('a name with a blank', hard({ 'a b': '1' }), 'Invalid spec.hard[a b]'),
  create('less than nothing', hard({ cpu: '-1' }), 'Invalid spec.hard[cpu]'),
  create('half a pod', hard({ pods: '500m' }), 'Invalid spec.hard[pods]'),
  create('half an object', hard({ 'count/secrets': '500m' }), 'Invalid spec.hard[count/secrets]'),
  create('a scope', scoped(['Terminating'])),
  create('a scope that is none', scoped(['Some']), 'Invalid spec.scopes'),
  create('two scopes', scoped(['Terminating', 'NotBestEffort'], { cpu: '5' })),
  create('scopes that exclude each other', scoped(['Terminating', 'NotTerminating']), 'Invalid spec.scopes'),
  create('a scope of pods for services', scoped(['Terminating'], { services: '5' }), 'Invalid spec.scopes'),
  create('cpu of best effort', scoped(['BestEffort'], { cpu: '5' }), 'Invalid spec.scopes'),
  create('classes', selected({ scopeName: 'PriorityClass', operator: 'In', values: ['high'] })),
  create('no classes', selected({ scopeName: 'PriorityClass', operator: 'In' }), `Required ${at}.values`),
  create('any class', selected({ scopeName: 'PriorityClass', operator: 'Exists' })),
  create(
    'any class of some',
    selected({ scopeName: 'PriorityClass', operator: 'Exists', values: ['high'] }),
    `Invalid ${at}.values`,
  ),
  create(
    'an operator that is none',
    selected({ scopeName: 'PriorityClass', operator: 'Some' }),
    `Invalid ${at}.operator`,
  ),
  create(
    'a value of a scope',
    selected({ scopeName: 'Terminating', operator: 'In', values: ['a'] }),
    `Invalid ${at}.operator`,
  ),
  create(
    'a selected scope that is none',
    selected({ scopeName: 'Some', operator: 'Exists' }),
    `Invalid ${at}.scopeName`,
  ),
  {
    ...create(
      'selected scopes that exclude each other',
      selected({ scopeName: 'BestEffort', operator: 'Exists' }, { scopeName: 'NotBestEffort', operator: 'Exists' }),
      `Invalid ${at}`,
    ),
    ...words,
  },
  change('the amounts', {}, hard({ 'example.com/none': '200' })),
  change('the scopes', {}, scoped(['Terminating']), 'Invalid spec.scopes'),
  changeStatus('usage', {}, { status: { hard: { pods: '5' }, used: { pods: '1' } } }),
  changeStatus('usage below zero', {}, { status: { used: { pods: '-1' } } }, 'Invalid status.used[pods]'),
])
