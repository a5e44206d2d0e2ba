import { change, create, type Kind, type ObjectCase, objectCases, replace } from './object-case.ts'

const kind: Kind = {
  collection: '/apis/scheduling.k8s.io/v1/priorityclasses',
  valid: { metadata: { name: 'new' }, value: 1000 },
}

export const priorityClassCases = objectCases('PriorityClasses', kind, [
  create('nothing special', {}),
  create('no value', { value: null }),
  create('below zero', { value: -2_147_483_648 }),
  create('the highest value', { value: 1_000_000_000 }),
  create('a higher value', { value: 1_000_000_001 }, 'Forbidden value'),
  create('a name in capitals', { metadata: { name: 'New' } }, 'Invalid metadata.name'),
  create('a name of the system', { metadata: { name: 'system-new' } }, 'Forbidden metadata.name'),
  create('a class of the system', { metadata: { name: 'system-node-critical' } }, 'Forbidden metadata.name'),
  create('no preemption', { preemptionPolicy: 'Never' }),
  create('a policy that is none', { preemptionPolicy: 'Sometimes' }, 'NotSupported preemptionPolicy'),
  change('the description', {}, { description: 'new' }),
  change('the value', {}, { value: 2000 }, 'Forbidden value'),
  change('the policy', {}, { preemptionPolicy: 'Never' }, 'Invalid preemptionPolicy'),
  change('the default', {}, { globalDefault: true }),
  replace('all', {}, { description: 'other', globalDefault: true }),
])

const pod: Kind = {
  collection: '/api/v1/namespaces/default/pods',
  valid: { metadata: { name: 'new' }, spec: { containers: [{ name: 'main', image: 'main:1' }] } },
}
const forbids = (title: string, spec: object): ObjectCase => ({
  ...create(title, { spec }),
  code: 403,
  reason: 'Forbidden',
})

export const podPriorityCases = objectCases('priorities of Pods', pod, [
  create('a class of the system', { spec: { priorityClassName: 'system-node-critical' } }),
  create('the priority of its class', {
    spec: { priorityClassName: 'system-cluster-critical', priority: 2_000_000_000 },
  }),
  create('no class and no priority', { spec: { priority: 0, preemptionPolicy: 'PreemptLowerPriority' } }),
  forbids('a class that there is not', { priorityClassName: 'missing' }),
  forbids('another priority than its class', { priorityClassName: 'system-node-critical', priority: 5 }),
  forbids('a priority without a class', { priority: 5 }),
  forbids('another policy than its class', { preemptionPolicy: 'Never' }),
  {
    ...change('the class', {}, { spec: { priorityClassName: 'system-node-critical' } }, 'Forbidden spec'),
    words: 'Kubernetes prints the difference of its Go type',
  },
  change('an update without the priority', {}, { spec: { priority: null, preemptionPolicy: null } }),
])
