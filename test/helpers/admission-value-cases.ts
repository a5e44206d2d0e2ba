import { configMaps, merge, on, one, type PolicyCase, shows, two, validates } from './admission-policy-requests.ts'

const deployments = '/apis/apps/v1/namespaces/default/deployments'

const values: readonly PolicyCase[] = [
  shows(
    'the operation and names',
    "'%s %s %s'.format([request.operation, request.name, request.namespace])",
    one,
    {
      ...one,
      body: { metadata: { generateName: 'long-' } },
    },
    merge(`${configMaps}/existing`, { data: { z: '1' } }),
    { method: 'DELETE', path: `${configMaps}/existing` },
  ),
  shows(
    'the kind and the resource',
    "'%s %s %s'.format([request.kind.kind, request.resource.resource, request.requestKind.version])",
    one,
  ),
  shows(
    'the options',
    'request.options.kind + string(request.dryRun) + request.options.apiVersion',
    one,
    merge(`${configMaps}/existing`, { data: { z: '1' } }),
    { method: 'DELETE', path: `${configMaps}/existing` },
  ),
  shows('the field manager', 'string(request.options.fieldManager)', { ...one, path: `${configMaps}?fieldManager=me` }),
  shows('no subresource', 'string(has(request.subResource)) + string(has(request.namespace))', one),
  shows('the user', "string('system:masters' in request.userInfo.groups)", one),
  shows(
    'the namespace',
    "namespaceObject.metadata.name + namespaceObject.status.phase + namespaceObject.metadata.labels['kubernetes.io/metadata.name']",
    one,
  ),
  shows('an object of the cluster', 'string(namespaceObject == null) + request.namespace', {
    method: 'POST',
    path: '/api/v1/namespaces',
    body: { metadata: { name: 'new' } },
  }),
  shows(
    'the metadata of a new object',
    'string(has(object.metadata.uid)) + string(has(object.metadata.resourceVersion)) + string(has(object.metadata.generation))',
    one,
  ),
  shows(
    'the metadata of a changed object',
    'string(has(object.metadata.uid)) + string(object.metadata.uid == oldObject.metadata.uid) + string(object.metadata.resourceVersion == oldObject.metadata.resourceVersion)',
    merge(`${configMaps}/existing`, { data: { z: '1' } }),
  ),
  shows('objects that are not there', 'string(object == null) + string(oldObject == null)', one, {
    method: 'DELETE',
    path: `${configMaps}/existing`,
  }),
  shows('kind and version', 'string(object.kind + object.apiVersion)', one),
]

/** Messages have no authorizer; validations do. */
const authorizations: readonly PolicyCase[] = [
  "authorizer.group('').resource('configmaps').namespace('default').check('create').allowed() && object.data.size() < 2",
  "authorizer.serviceAccount('default', 'unknown').group('').resource('secrets').check('get').allowed()",
  "authorizer.serviceAccount('default', 'A').path('/x').check('get').allowed()",
  "authorizer.path(' ').check('get').allowed()",
  "authorizer.requestResource.name('x').subresource('status').check('get').errored()",
  "authorizer.requestResource.check('create').reason() == 'none'",
  "authorizer.group('apps').resource('deployments').fieldSelector('a=b').labelSelector('c').check('list').error() == 'x'",
].map((expression) => validates(expression, { expression }))

/** Subresources, deletions and resources that policies do not see. */
const others: readonly PolicyCase[] = [
  {
    title: 'a scale',
    policy: {
      ...on({ apiGroups: ['apps'], resources: ['deployments/scale'] }),
      validations: [
        {
          expression: 'object.spec.replicas < 3',
          messageExpression: 'string(object.kind) + request.subResource + string(oldObject.spec.replicas)',
        },
      ],
    },
    requests: [
      merge(`${deployments}/web/scale`, { spec: { replicas: 5 } }),
      merge(`${deployments}/web/scale`, { spec: { replicas: 2 } }),
      merge(`${deployments}/web`, { spec: { replicas: 5 } }),
    ],
  },
  {
    title: 'a status',
    policy: {
      ...on({ apiGroups: ['apps'], resources: ['deployments/status'] }),
      validations: [{ expression: 'object.status.replicas < 3', messageExpression: 'request.subResource' }],
    },
    requests: [merge(`${deployments}/web/status`, { status: { replicas: 5 } })],
  },
  {
    title: 'an eviction',
    policy: {
      ...on({ resources: ['pods/eviction'] }),
      validations: [
        {
          expression: 'false',
          messageExpression: 'string(object.kind) + request.kind.group + request.resource.resource + request.name',
        },
      ],
    },
    requests: [
      {
        method: 'POST',
        path: '/api/v1/namespaces/default/pods/idle/eviction',
        body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'idle', namespace: 'default' } },
      },
    ],
  },
  {
    title: 'the deletion of a namespace',
    policy: {
      ...on({ operations: ['DELETE'], resources: ['namespaces'] }),
      validations: [{ expression: "oldObject.metadata.name != 'team'", reason: 'Forbidden' }],
    },
    requests: [{ method: 'DELETE', path: '/api/v1/namespaces/team' }],
  },
  {
    title: 'the deletion of a collection',
    policy: {
      ...on({ operations: ['DELETE'] }),
      validations: [
        {
          expression: "oldObject.metadata.name != 'existing'",
          messageExpression: "'<' + (has(request.name) ? request.name : '') + '>'",
        },
      ],
    },
    requests: [{ method: 'DELETE', path: `${configMaps}?labelSelector=existing=yes` }],
  },
  {
    title: 'every resource',
    policy: {
      ...on({ apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'], scope: 'Namespaced' }),
      validations: [{ expression: 'false' }],
    },
    requests: [
      two,
      { method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: 'new' } } },
      {
        method: 'POST',
        path: '/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews',
        body: {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'LocalSubjectAccessReview',
          metadata: { namespace: 'default' },
          spec: { user: 'x', resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'default' } },
        },
      },
      {
        method: 'POST',
        path: '/api/v1/namespaces/default/serviceaccounts/default/token',
        body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: ['x'] } },
      },
    ],
  },
]

export const valueCases: readonly PolicyCase[] = [...values, ...authorizations, ...others]
