import { creates, type Expected, type KindCases, otherWords } from './write-case.ts'

const authorization = '/apis/authorization.k8s.io/v1'
const authentication = '/apis/authentication.k8s.io/v1'
const bad: Expected = { code: 400, reason: 'BadRequest' }
const conflict: Expected = { code: 409, reason: 'Conflict' }

const managed: Expected = { words: 'Kubernetes shows managed fields that it added itself' }

const resourceAttributes = { verb: 'get', resource: 'pods', namespace: 'default' }
const nonResourceAttributes = { verb: 'get', path: '/healthz' }
const both = { resourceAttributes, nonResourceAttributes }
const asked = (change: object) => ({ spec: { user: 'ann', resourceAttributes, ...change } })
const attributed = (change: object) => asked({ resourceAttributes: { ...resourceAttributes, ...change } })
const fields = (fieldSelector: object) => attributed({ fieldSelector })
const labels = (labelSelector: object) => attributed({ labelSelector })
const requirement = (change: object) => ({ requirements: [{ key: 'a', operator: 'Exists', ...change }] })
const [at, byField, byLabel] = ['resourceAttributes', 'fieldSelector', 'labelSelector'].map((name, index) =>
  index === 0 ? `spec.${name}` : `spec.resourceAttributes.${name}`,
)

const subject = creates(`${authorization}/subjectaccessreviews`, asked({}))

const subjects = [
  subject('a user', {}),
  subject('a group', asked({ user: null, groups: ['admins'] })),
  subject('no user', asked({ user: null }), ['Invalid spec.user']),
  subject('an empty name and no groups', asked({ user: '', groups: [] }), ['Invalid spec.user']),
  subject('a path', { spec: { user: 'ann', nonResourceAttributes } }),
  subject('a path and a resource', asked(both), ['Invalid spec.nonResourceAttributes'], otherWords.goFields),
  subject('nothing', { spec: { user: 'ann' } }, [`Invalid ${at}`]),
  subject('no spec', { spec: null }, [`Invalid ${at}`, 'Invalid spec.user']),
  subject('empty attributes', asked({ resourceAttributes: {} })),
  subject('empty attributes of a path', { spec: { user: 'ann', nonResourceAttributes: {} } }),
  subject('a name of its own', { metadata: { name: 'a' } }, ['Invalid metadata'], managed),
  subject('a label of its own', { metadata: { labels: { a: 'b' } } }, ['Invalid metadata'], managed),
  subject('empty labels', { metadata: { labels: {} } }),
  subject('a namespace of its own, which it loses', { metadata: { namespace: 'default' } }),
  subject('further attributes of a user', asked({ uid: 'u', extra: { scopes: ['a'] }, groups: ['b'] })),
]

const selectors = [
  subject('a field selector', fields(requirement({}))),
  subject('a field selector as a text', fields({ rawSelector: 'metadata.name=a' })),
  subject('a field selector that is none', fields({ rawSelector: '!!' })),
  subject('a field selector of nothing', fields({}), [`Required ${byField}.requirements`]),
  subject('a field selector in both forms', fields({ ...requirement({}), rawSelector: 'a=b' }), [
    `Invalid ${byField}.rawSelector`,
  ]),
  subject('fields without key', fields(requirement({ key: '' })), [`Required ${byField}.requirements[0].key`]),
  subject('fields In nothing', fields(requirement({ operator: 'In' })), [`Required ${byField}.requirements[0].values`]),
  subject('fields that exist with a value', fields(requirement({ values: ['a'] })), [
    `Forbidden ${byField}.requirements[0].values`,
  ]),
  subject('fields by an operator that is none', fields(requirement({ operator: 'Like' }))),
  subject('a label selector', labels(requirement({}))),
  subject('a label selector of nothing', labels({}), [`Required ${byLabel}.requirements`]),
  subject('a label selector in both forms', labels({ ...requirement({}), rawSelector: 'a=b' }), [
    `Invalid ${byLabel}.rawSelector`,
  ]),
  subject('labels of a key with a blank', labels(requirement({ key: 'a b' })), [
    `Invalid ${byLabel}.requirements[0].key`,
  ]),
  subject('labels In nothing', labels(requirement({ operator: 'In' })), [`Required ${byLabel}.requirements[0].values`]),
  subject('labels of a value with a blank', labels(requirement({ operator: 'In', values: ['a b'] })), [
    `Invalid ${byLabel}.requirements[0].values[0]`,
  ]),
  subject('labels by an operator that is none', labels(requirement({ operator: 'Like' }))),
]

const self = creates(`${authorization}/selfsubjectaccessreviews`, { spec: { resourceAttributes } })
const selves = [
  self('a resource', {}),
  self('a path', { spec: { nonResourceAttributes } }),
  self('both', { spec: both }, ['Invalid spec.nonResourceAttributes'], otherWords.goFields),
  self('nothing', { spec: {} }, [`Invalid ${at}`]),
  self('a name of its own', { metadata: { name: 'a' } }, ['Invalid metadata'], managed),
  self('a field selector of nothing', { spec: { resourceAttributes: { ...resourceAttributes, fieldSelector: {} } } }, [
    `Required ${byField}.requirements`,
  ]),
]

const localPath = `${authorization}/namespaces/default/localsubjectaccessreviews`
const local = creates(localPath, { metadata: { namespace: 'default' }, ...asked({}) })
const locals = [
  local('a resource', {}),
  local('no namespace of its own', { metadata: {} }),
  local('another namespace of its own', { metadata: { namespace: 'kube-system' } }, [], bad),
  local('a resource of another namespace', attributed({ namespace: 'kube-system' }), [`Invalid ${at}.namespace`]),
  local('a resource of no namespace', attributed({ namespace: '' }), [`Invalid ${at}.namespace`]),
  local(
    'a path',
    { spec: { user: 'ann', nonResourceAttributes } },
    ['Invalid spec.nonResourceAttributes'],
    otherWords.goFields,
  ),
  local('both', asked(both), ['Invalid spec.nonResourceAttributes'], otherWords.goFields),
  local('nothing', { spec: { user: 'ann' } }, [`Invalid ${at}`]),
  local('no user', asked({ user: '' }), ['Invalid spec.user']),
  local('a name of its own', { metadata: { namespace: 'default', name: 'a' } }, ['Invalid metadata'], managed),
]

const rules = creates(`${authorization}/selfsubjectrulesreviews`, { spec: { namespace: 'default' } })
const token = creates(`${authentication}/tokenreviews`, { spec: { token: 'x' } })
const whoAmI = creates(`${authentication}/selfsubjectreviews`, {})

export const reviewCases: KindCases = {
  title: 'reviews',
  fixtures: [],
  cases: [
    ...subjects,
    ...selectors,
    ...selves,
    ...locals,
    rules('the rules of a namespace', {}),
    rules('the rules of no namespace', { spec: {} }, [], bad),
    rules('no spec', { spec: null }, [], bad),
    token('a token', {}),
    token('no token', { spec: {} }, [], bad),
    token('audiences', { spec: { token: 'x', audiences: ['a', 'b'] } }),
    token('a token that is a number', { spec: { token: 1 } }, [], bad),
    whoAmI('who one is', {}),
    whoAmI('who one is by name', { metadata: { name: 'a' } }),
  ],
}

const tokenPath = '/api/v1/namespaces/default/serviceaccounts/robot/token'
const request = creates(tokenPath, { spec: {} })
const lasting = (expirationSeconds: number) => ({ spec: { expirationSeconds } })
const boundTo = (change: object) => ({
  spec: { boundObjectRef: { apiVersion: 'v1', kind: 'Secret', name: 'bound', ...change } },
})

export const tokenRequestCases: KindCases = {
  title: 'TokenRequests',
  fixtures: [
    { path: '/api/v1/namespaces/default/serviceaccounts', body: { metadata: { name: 'robot' } } },
    { path: '/api/v1/namespaces/default/secrets', body: { metadata: { name: 'bound' } } },
    { path: '/api/v1/nodes', body: { metadata: { name: 'bound' } } },
  ],
  cases: [
    request('nothing special', {}),
    request('no spec', { spec: null }),
    request('audiences', { spec: { audiences: ['a', 'b'] } }),
    request('a time of ten minutes', lasting(600)),
    request('a time below ten minutes', lasting(599), ['Invalid spec.expirationSeconds']),
    request('no time', lasting(0), ['Invalid spec.expirationSeconds']),
    request('a negative time', lasting(-1), ['Invalid spec.expirationSeconds']),
    request('a time of 2^32 seconds', lasting(2 ** 32)),
    request('a time beyond 2^32 seconds', lasting(2 ** 32 + 1), ['Invalid spec.expirationSeconds']),
    request('a time that is a text', { spec: { expirationSeconds: 'hour' } }, [], bad),
    request('the account by its name', { metadata: { name: 'robot', namespace: 'default' } }),
    request('another account', { metadata: { name: 'other' } }, ['Invalid metadata.name']),
    request('another namespace', { metadata: { namespace: 'kube-system' } }, [], bad),
    request('another uid', { metadata: { uid: 'other' } }, [], conflict),
    request('a Secret', boundTo({})),
    request('a Secret of another uid', boundTo({ uid: 'other' }), [], conflict),
    request('a Secret that is absent', boundTo({ name: 'absent' }), [], { code: 404, reason: 'NotFound' }),
    request('a Pod that is absent', boundTo({ kind: 'Pod', name: 'absent' }), [], { code: 404, reason: 'NotFound' }),
    request('a Node', boundTo({ kind: 'Node', name: 'bound' })),
    request('a Node of another uid', boundTo({ kind: 'Node', name: 'bound', uid: 'other' }), [], conflict),
    request('a Node that is absent', boundTo({ kind: 'Node', name: 'absent' }), [], { code: 404, reason: 'NotFound' }),
    request('a ConfigMap', boundTo({ kind: 'ConfigMap' }), [], bad),
    request('a Secret of no version', boundTo({ apiVersion: null })),
    request('a Secret of another group', boundTo({ apiVersion: 'apps/v1' }), [], bad),
    request('an empty reference', { spec: { boundObjectRef: {} } }, [], bad),
    creates('/api/v1/namespaces/default/serviceaccounts/absent/token', { spec: {} })(
      'an account that is absent',
      {},
      [],
      {
        code: 404,
        reason: 'NotFound',
      },
    ),
  ],
}
