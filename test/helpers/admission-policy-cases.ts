import {
  configMaps,
  constraints,
  create,
  type Fields,
  few,
  merge,
  on,
  one,
  type PolicyCase,
  type PolicyRequest,
  rule,
  two,
  validates,
} from './admission-policy-requests.ts'
import { valueCases } from './admission-value-cases.ts'

const params = { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' } }
const limited = { validations: [{ expression: 'object.data.size() <= int(params.data.max)' }] }
const withParam = (paramRef: Fields, bound: Fields = {}) => ({
  paramRef: { parameterNotFoundAction: 'Deny', ...paramRef },
  ...bound,
})

const autoscalers = (version: string): PolicyRequest => ({
  method: 'POST',
  path: `/apis/autoscaling/${version}/namespaces/default/horizontalpodautoscalers`,
  body: {
    metadata: { name: 'a' },
    spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } },
  },
})
const onAutoscalers = { apiGroups: ['autoscaling'], apiVersions: ['v1'], resources: ['horizontalpodautoscalers'] }

const decisions: readonly PolicyCase[] = [
  validates('an expression', { expression: few }),
  validates('an expression over lines', { expression: ' object.data.size()\n < 2 ' }),
  validates('a message', { expression: few, message: ' too many ' }),
  validates('the reason Forbidden', { expression: few, reason: 'Forbidden' }),
  validates('the reason RequestEntityTooLarge', { expression: few, reason: 'RequestEntityTooLarge' }),
  validates('a message expression', { expression: few, messageExpression: "'has ' + string(object.data.size())" }),
  validates('a message of two lines', { expression: few, message: 'm', messageExpression: "'a\\nb'" }),
  validates('an empty message', { expression: few, messageExpression: "' '" }),
  validates('a message that fails', { expression: few, messageExpression: 'string(object.data.z)' }),
  validates('a key that is missing', { expression: "object.data.z == '1'" }),
  validates('a value of another type', { expression: 'object.data > 1' }),
  validates('a field of null', { expression: "oldObject.data.x == '1'" }),
  validates('an error that nothing hides', { expression: "object.data.z == '1' || object.data.size() < 2" }),
  validates('a division by zero', { expression: '1 / (object.data.size() - 2) != 0' }),
  {
    title: 'several validations',
    policy: { validations: [{ expression: 'true' }, { expression: few, message: 'm' }, { expression: 'false' }] },
    requests: [two, one],
  },
  {
    title: 'failures that are ignored, and one that is none',
    policy: { failurePolicy: 'Ignore', validations: [{ expression: "object.data.z == '1'" }, { expression: few }] },
    requests: [two, one],
  },
  {
    title: 'variables',
    policy: {
      variables: [
        { name: 'size', expression: 'object.data.size()' },
        { name: 'most', expression: 'variables.size > 2 ? 0 : 1' },
        { name: 'unused', expression: 'object.data.z' },
      ],
      validations: [{ expression: 'variables.size <= variables.most', messageExpression: 'string(variables.most)' }],
    },
    requests: [two, one],
  },
  {
    title: 'a variable that fails',
    policy: {
      variables: [{ name: 'z', expression: 'object.data.z' }],
      validations: [{ expression: "variables.z == '1'" }],
    },
    requests: [two],
  },
  {
    title: 'a variable that costs too much',
    policy: {
      variables: [
        {
          name: 'z',
          expression:
            '[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, [1,2,3,4,5,6,7,8,9].all(d, [1,2,3,4,5,6,7,8,9].all(e, [1,2,3,4,5,6,7,8,9].all(f, a+b+c+d+e+f > 0))))))',
        },
      ],
      validations: [{ expression: 'variables.z' }],
    },
    requests: [two],
  },
  {
    title: 'an expression that costs too much',
    policy: {
      validations: [
        { expression: "[1, 2, 3].all(each, !authorizer.path('/x').check('get').allowed() || each > 0)" },
        { expression: 'false' },
      ],
    },
    requests: [two],
  },
  {
    title: 'many expressions that cost too much together',
    policy: {
      validations: Array.from({ length: 16 }, () => ({
        expression: "authorizer.path('/x').check('get').allowed() && authorizer.path('/y').check('get').allowed()",
      })),
    },
    requests: [two],
  },
]

const bound: readonly PolicyCase[] = [
  {
    title: 'warnings',
    policy: { validations: [{ expression: few, message: 'with "quotes"' }, { expression: 'false' }] },
    bindings: [{ validationActions: ['Warn'] }],
    requests: [two, one],
  },
  {
    title: 'a warning by one binding and a refusal by another',
    policy: { validations: [{ expression: few }] },
    bindings: [{ validationActions: ['Warn', 'Audit'] }, { validationActions: ['Deny', 'Audit'] }],
    requests: [two, one],
  },
  {
    title: 'a binding with rules of its own',
    policy: { validations: [{ expression: 'false' }] },
    bindings: [{ matchResources: { resourceRules: [{ ...rule, operations: ['UPDATE'] }] } }],
    requests: [merge(`${configMaps}/existing`, { data: { z: '1' } }), one],
  },
  {
    title: 'a binding that excludes a name',
    policy: { validations: [{ expression: 'false' }] },
    bindings: [{ matchResources: { excludeResourceRules: [{ ...rule, resourceNames: ['a'] }] } }],
    requests: [two, one],
  },
  {
    title: 'a selector of objects',
    policy: {
      matchConstraints: { ...constraints, objectSelector: { matchLabels: { strict: 'yes' } } },
      validations: [{ expression: 'false' }],
    },
    requests: [
      create('b', {}, { labels: { strict: 'yes' } }),
      one,
      merge(`${configMaps}/existing`, { data: { z: '1' } }),
    ],
  },
  {
    title: 'a selector of namespaces',
    policy: {
      matchConstraints: {
        ...constraints,
        namespaceSelector: {
          matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'In', values: ['default'] }],
        },
      },
      validations: [{ expression: 'false' }],
    },
    requests: [one, { ...one, path: '/api/v1/namespaces/kube-public/configmaps' }],
  },
  {
    title: 'a match condition that does not hold',
    policy: {
      matchConditions: [{ name: 'many', expression: 'object.data.size() > 1' }],
      validations: [{ expression: 'false' }],
    },
    requests: [two, one],
  },
  {
    title: 'a match condition that fails, and one that does not hold',
    policy: {
      matchConditions: [
        { name: 'missing', expression: "object.data.z == '1'" },
        { name: 'many', expression: 'object.data.size() > 1' },
      ],
      validations: [{ expression: 'true' }],
    },
    requests: [two, one],
  },
  {
    title: 'match conditions that fail',
    policy: {
      matchConditions: ['z', 'z', 'w'].map((key, index) => ({
        name: `c${index}`,
        expression: `object.data.${key} == '1'`,
      })),
      validations: [{ expression: 'true' }],
    },
    requests: [two],
  },
  {
    title: 'a match condition with a namespace, which it does not have',
    policy: {
      matchConditions: [{ name: 'team', expression: "namespaceObject.metadata.name == 'default'" }],
      validations: [{ expression: 'true' }],
    },
    requests: [two],
  },
  {
    title: 'an annotation that fails',
    policy: { auditAnnotations: [{ key: 'z', valueExpression: 'string(object.data.z)' }] },
    bindings: [{ validationActions: ['Audit'] }],
    requests: [two],
  },
  {
    title: 'another version of the resource',
    policy: {
      ...on(onAutoscalers),
      validations: [
        {
          expression: 'false',
          messageExpression: 'string(object.apiVersion) + request.requestResource.version + request.resource.version',
        },
      ],
    },
    requests: [autoscalers('v1'), autoscalers('v2')],
  },
  {
    title: 'an exact version of the resource',
    policy: {
      matchConstraints: { matchPolicy: 'Exact', resourceRules: [{ ...rule, ...onAutoscalers }] },
      validations: [{ expression: 'false' }],
    },
    requests: [autoscalers('v1'), autoscalers('v2')],
  },
]

const withParams: readonly PolicyCase[] = [
  {
    title: 'a parameter',
    policy: { ...params, ...limited },
    bindings: [withParam({ name: 'limits' })],
    requests: [two, one],
  },
  {
    title: 'no parameter',
    policy: { ...params, ...limited },
    bindings: [withParam({ name: 'gone' })],
    requests: [two],
  },
  {
    title: 'no parameter, which is allowed by one binding',
    policy: { ...params, ...limited },
    bindings: [withParam({ name: 'gone', parameterNotFoundAction: 'Allow' }), withParam({ name: 'limits' })],
    requests: [two, one],
  },
  {
    title: 'no parameter while failures are ignored',
    policy: { ...params, ...limited, failurePolicy: 'Ignore' },
    bindings: [withParam({ name: 'gone' }), withParam({ name: 'limits' })],
    requests: [two, one],
  },
  {
    title: 'parameters by labels',
    policy: { ...params, ...limited },
    bindings: [withParam({ selector: { matchLabels: { limit: 'yes' } }, namespace: 'default' })],
    requests: [two, one],
  },
  {
    title: 'a binding without parameters',
    policy: { ...params, validations: [{ expression: 'params != null' }] },
    bindings: [{}],
    requests: [two],
  },
  {
    title: 'a parameter of the cluster with a namespace',
    policy: { paramKind: { apiVersion: 'v1', kind: 'Namespace' }, validations: [{ expression: 'true' }] },
    bindings: [withParam({ name: 'default', namespace: 'default' })],
    requests: [two],
  },
  {
    title: 'a parameter of a namespace for an object of the cluster',
    policy: {
      ...params,
      ...on({ resources: ['namespaces'] }),
      validations: [{ expression: "params.data.max == '1'" }],
    },
    bindings: [withParam({ name: 'limits' })],
    requests: [{ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: 'new' } } }],
  },
  {
    title: 'a parameter and its type',
    policy: {
      ...params,
      validations: [
        { expression: 'false', messageExpression: 'string(params.kind + params.apiVersion + params.metadata.name)' },
      ],
    },
    bindings: [withParam({ name: 'limits' })],
    requests: [two],
  },
]

export const policyCases: readonly PolicyCase[] = [...decisions, ...bound, ...withParams, ...valueCases].map(
  (each) => ({ ...each, policy: { matchConstraints: constraints, ...each.policy } }),
)
