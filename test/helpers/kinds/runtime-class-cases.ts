import { change, create, type Kind, type ObjectCase, objectCases, replace } from './object-case.ts'

const kind: Kind = {
  collection: '/apis/node.k8s.io/v1/runtimeclasses',
  valid: { metadata: { name: 'new' }, handler: 'sandbox' },
}
const scheduling = (fields: object) => ({ scheduling: fields })
const toleration = { key: 'sandbox', operator: 'Exists', effect: 'NoSchedule' }
const tolerations = (...list: readonly object[]) => scheduling({ tolerations: list })
const at = 'scheduling.tolerations'

export const runtimeClassCases = objectCases('RuntimeClasses', kind, [
  create('nothing special', {}),
  create('an overhead', { overhead: { podFixed: { cpu: '250m', memory: '120Mi' } } }),
  create('an overhead below zero', { overhead: { podFixed: { cpu: '-1' } } }, 'Invalid overhead.limits[cpu]'),
  create('an overhead of no resource', { overhead: { podFixed: { pods: '1' } } }, 'Invalid overhead.limits[pods]'),
  create('a selector', scheduling({ nodeSelector: { sandbox: 'yes' } })),
  create('a selector with a blank', scheduling({ nodeSelector: { 'a b': 'c d' } }), 'Invalid scheduling.nodeSelector'),
  create('a toleration', tolerations(toleration)),
  create(
    'a toleration that is none',
    tolerations({ ...toleration, operator: 'Like' }),
    `NotSupported ${at}.tolerations[0].operator`,
  ),
  {
    ...create('a toleration twice', tolerations(toleration, toleration), `Duplicate ${at}[1]`),
    words: 'Kubernetes prints its Go type',
  },
  create('no handler', { handler: null }, 'Invalid handler'),
  create('a handler in capitals', { handler: 'Sandbox' }, 'Invalid handler'),
  create('a handler with a dot', { handler: 'a.b' }, 'Invalid handler'),
  create('a name in capitals', { metadata: { name: 'New' } }, 'Invalid metadata.name'),
  change('the handler', {}, { handler: 'other' }, 'Invalid handler'),
  change('the overhead', {}, { overhead: { podFixed: { cpu: '1' } } }),
  replace('the object without its revision', {}, {}, 'Invalid metadata.resourceVersion'),
])

const pod: Kind = {
  collection: '/api/v1/namespaces/default/pods',
  valid: { metadata: { name: 'new' }, spec: { containers: [{ name: 'main', image: 'main:1' }] } },
}
const ofClass = (fields: object) => ({ spec: { runtimeClassName: 'sandboxed', ...fields } })
const forbids = (title: string, spec: object): ObjectCase => ({
  ...create(title, { spec }),
  code: 403,
  reason: 'Forbidden',
})

export const podRuntimeClassCases = {
  ...objectCases('runtime classes of Pods', pod, [
    create('its class', ofClass({})),
    create('the overhead of its class in other words', ofClass({ overhead: { cpu: '0.25', memory: '125829120' } })),
    create('a selector and a toleration beside those of its class', {
      spec: { runtimeClassName: 'sandboxed', nodeSelector: { a: 'b' }, tolerations: [{ operator: 'Exists' }] },
    }),
    forbids('another overhead than its class', ofClass({ overhead: { cpu: '1' } }).spec),
    forbids('an overhead without a class', { overhead: { cpu: '1' } }),
    forbids('another node than its class', ofClass({ nodeSelector: { sandbox: 'no' } }).spec),
    forbids('a class that there is not', { runtimeClassName: 'missing' }),
  ]),
  fixtures: [
    {
      path: kind.collection,
      body: {
        metadata: { name: 'sandboxed' },
        handler: 'sandbox',
        overhead: { podFixed: { cpu: '250m', memory: '120Mi' } },
        scheduling: { nodeSelector: { sandbox: 'yes' }, tolerations: [toleration] },
      },
    },
  ],
}
