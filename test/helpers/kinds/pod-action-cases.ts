import { creates, type Expected, type KindCases } from './write-case.ts'

const pods = '/api/v1/namespaces/default/pods'
const bad: Expected = { code: 400, reason: 'BadRequest' }
const conflict: Expected = { code: 409, reason: 'Conflict' }
const absent: Expected = { code: 404, reason: 'NotFound' }
const answers500: Expected = { differs: 'Kubernetes answers with a 500 to what the client did wrong' }
const spec = { containers: [{ name: 'web', image: 'web:1' }], terminationGracePeriodSeconds: 0 }
const named = (name: string) => ({ metadata: { name } })

const bind = (name: string) =>
  creates(`${pods}/${name}/binding`, { ...named(name), target: { kind: 'Node', name: 'n' } })
const free = bind('free')
const legacy = creates('/api/v1/namespaces/default/bindings', { ...named('free'), target: { kind: 'Node', name: 'n' } })

export const bindingCases: KindCases = {
  title: 'Bindings',
  fixtures: [
    { path: pods, body: { ...named('free'), spec } },
    { path: pods, body: { ...named('placed'), spec: { ...spec, nodeName: 'n' } } },
    { path: pods, body: { ...named('gated'), spec: { ...spec, schedulingGates: [{ name: 'example.com/wait' }] } } },
  ],
  cases: [
    free('a node', {}),
    free('a node without its kind', { target: { name: 'n' } }),
    free('a Pod as a node', { target: { kind: 'Pod', name: 'n' } }, ['NotSupported target.kind'], answers500),
    free('no node', { target: {} }, ['Required target.name'], answers500),
    free('no target', { target: null }, ['Required target.name'], answers500),
    free('another pod', named('other'), [], bad),
    free('no name', { metadata: {} }, [], bad),
    free('the revision of another moment', { metadata: { name: 'free', resourceVersion: '1' } }, [], conflict),
    free('an annotation', { metadata: { name: 'free', annotations: { a: 'b' } } }),
    free('another namespace', { metadata: { name: 'free', namespace: 'kube-system' } }, [], bad),
    free('another uid', { metadata: { name: 'free', uid: 'other' } }, [], conflict),
    free('another kind', { apiVersion: 'v1', kind: 'Pod' }, [], bad),
    bind('placed')('a pod that is bound', {}, [], conflict),
    bind('gated')('a pod that waits for a gate', {}, [], conflict),
    bind('absent')('a pod that is absent', {}, [], absent),
    legacy('a node by the path of all bindings', {}, [], {
      ...absent,
      differs: 'a Binding is written to its Pod: no client writes to the older path',
    }),
  ],
}

const evict = (name: string) => creates(`${pods}/${name}/eviction`, named(name))
const resting = evict('resting')
const options = (deleteOptions: object) => ({ deleteOptions })

export const evictionCases: KindCases = {
  title: 'Evictions',
  fixtures: [{ path: pods, body: { ...named('resting'), spec } }],
  cases: [
    resting('nothing special', {}),
    resting('by its version', { apiVersion: 'policy/v1', kind: 'Eviction' }),
    resting('by an older version', { apiVersion: 'policy/v1beta1', kind: 'Eviction' }),
    resting('by a version that is none', { apiVersion: 'policy/v7', kind: 'Eviction' }, [], bad),
    resting('another kind', { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget' }, [], bad),
    resting('another pod', named('other'), [], bad),
    resting('no name', { metadata: {} }, [], bad),
    resting('another namespace', { metadata: { name: 'resting', namespace: 'kube-system' } }, [], bad),
    resting('a grace', options({ gracePeriodSeconds: 5 })),
    resting('a negative grace', options({ gracePeriodSeconds: -5 })),
    resting('another uid', options({ preconditions: { uid: 'other' } }), [], conflict),
    resting('an old revision', options({ preconditions: { resourceVersion: '1' } }), [], conflict),
    resting('a propagation', options({ propagationPolicy: 'Background' })),
    resting('a propagation that is none', options({ propagationPolicy: 'Sideways' }), [
      'NotSupported propagationPolicy',
    ]),
    resting('a dry run', options({ dryRun: ['All'] })),
    resting('a dry run that is none', options({ dryRun: ['Some'] }), ['NotSupported dryRun'], answers500),
    resting('a label of its own', { metadata: { name: 'resting', labels: { 'a b': 'c' } } }),
    evict('absent')('a pod that is absent', {}, [], absent),
  ],
}
