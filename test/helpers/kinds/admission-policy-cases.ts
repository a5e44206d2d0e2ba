import { change, changeStatus, create, type Fields, type Kind, objectCases, replace } from './object-case.ts'

const group = '/apis/admissionregistration.k8s.io/v1'
const rule = { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }
const matchConstraints = { resourceRules: [rule] }
const policy: Kind = {
  collection: `${group}/validatingadmissionpolicies`,
  valid: { metadata: { name: 'new' }, spec: { matchConstraints, validations: [{ expression: 'true' }] } },
}

const spec = (fields: Fields) => ({ spec: fields })
const validation = (fields: Fields) => spec({ validations: [{ expression: 'true', ...fields }] })
const rules = (fields: Fields) => spec({ matchConstraints: { resourceRules: [{ ...rule, ...fields }] } })
const variables = (...list: readonly Fields[]) => spec({ variables: list })
const conditions = (...list: readonly Fields[]) => spec({ matchConditions: list })
const annotations = (...list: readonly Fields[]) => spec({ auditAnnotations: list })
const paramKind = (apiVersion: string, kind = 'Pod') => spec({ paramKind: { apiVersion, kind } })

const [atRule, atFirst] = ['spec.matchConstraints.resourceRules[0]', 'spec.validations[0]']

export const admissionPolicyCases = objectCases('ValidatingAdmissionPolicies', policy, [
  create('nothing special', {}),
  create('a name in capitals', { metadata: { name: 'New' } }, 'Invalid metadata.name'),
  create(
    'no spec',
    { spec: null },
    'Required spec.matchConstraints',
    'Required spec.validations',
    'Required spec.auditAnnotations',
  ),
  create(
    'no rules',
    spec({ matchConstraints: { resourceRules: null } }),
    'Required spec.matchConstraints.resourceRules',
  ),
  create('a failure policy that is none', spec({ failurePolicy: 'Try' }), 'NotSupported spec.failurePolicy'),
  create(
    'a match policy that is none',
    spec({ matchConstraints: { matchPolicy: 'Any' } }),
    'NotSupported spec.matchConstraints.matchPolicy',
  ),
  create('an operation that is none', rules({ operations: ['READ'] }), `NotSupported ${atRule}.operations[0]`),
  create('no operations', rules({ operations: [] }), `Required ${atRule}.operations`),
  create('no groups', rules({ apiGroups: null }), `Required ${atRule}.apiGroups`),
  create('a wildcard and a version', rules({ apiVersions: ['*', 'v1'] }), `Invalid ${atRule}.apiVersions`),
  create('a wildcard and a resource', rules({ resources: ['*', 'pods'] }), `Invalid ${atRule}.resources`),
  create('subresources', rules({ resources: ['pods/*', '*/scale'] })),
  create('a scope that is none', rules({ scope: 'All' }), `NotSupported ${atRule}.scope`),
  create('a name with a slash', rules({ resourceNames: ['a/b'] }), `Invalid ${atRule}.resourceNames[0]`),
  create('a name twice', rules({ resourceNames: ['a', 'a'] }), `Duplicate ${atRule}.resourceNames[1]`),
  create(
    'excluded rules without operations',
    spec({ matchConstraints: { excludeResourceRules: [{ ...rule, operations: [] }] } }),
    'Required spec.matchConstraints.excludeResourceRules[0].operations',
  ),
  create(
    'a selector with an operator that is none',
    spec({ matchConstraints: { objectSelector: { matchExpressions: [{ key: 'a', operator: 'Is' }] } } }),
    'Invalid spec.matchConstraints.objectSelector.matchExpressions[0].operator',
  ),
  create('no expression', validation({ expression: '' }), `Required ${atFirst}.expression`),
  create('an expression of spaces', validation({ expression: ' ' }), `Required ${atFirst}.expression`),
  create('an expression that cannot be read', validation({ expression: 'object.' }), `Invalid ${atFirst}.expression`),
  create('an expression without a boolean', validation({ expression: '1' }), `Invalid ${atFirst}.expression`),
  create('an expression of an unknown type', validation({ expression: 'object.a' }), `Invalid ${atFirst}.expression`),
  create('a list of texts', validation({ expression: "['a']" }), `Invalid ${atFirst}.expression`),
  create('a null', validation({ expression: 'null' }), `Invalid ${atFirst}.expression`),
  create(
    'a map of times',
    validation({ expression: "{'a': timestamp('2020-01-01T00:00:00Z')}" }),
    `Invalid ${atFirst}.expression`,
  ),
  create('an unknown variable', validation({ expression: 'self' }), `Invalid ${atFirst}.expression`),
  create(
    'an unknown field of the request',
    validation({ expression: "request.uid == ''" }),
    `Invalid ${atFirst}.expression`,
  ),
  create(
    'an unknown field of the namespace',
    validation({ expression: "namespaceObject.metadata.uid == ''" }),
    `Invalid ${atFirst}.expression`,
  ),
  create(
    'parameters that there are not',
    validation({ expression: "params.a == ''" }),
    `Invalid ${atFirst}.expression`,
  ),
  create('an authorizer', validation({ expression: "authorizer.path('/a').check('get').allowed()" })),
  create(
    'a question without an answer',
    validation({ expression: "authorizer.path('/a')" }),
    `Invalid ${atFirst}.expression`,
  ),
  create(
    'a field of the authorizer',
    validation({ expression: 'authorizer.other.allowed()' }),
    `Invalid ${atFirst}.expression`,
  ),
  create('variables that there are not', validation({ expression: 'variables.a' }), `Invalid ${atFirst}.expression`),
  create('a message of spaces', validation({ message: ' ' }), `Invalid ${atFirst}.message`),
  create('a message of two lines', validation({ message: 'a\nb' }), `Invalid ${atFirst}.message`),
  create(
    'a message expression of spaces',
    validation({ messageExpression: ' ' }),
    `Invalid ${atFirst}.messageExpression`,
  ),
  create(
    'a message expression without a text',
    validation({ messageExpression: '1' }),
    `Invalid ${atFirst}.messageExpression`,
  ),
  create(
    'a message expression with an authorizer',
    validation({ messageExpression: "string(authorizer.path('/a').check('get').allowed())" }),
    `Invalid ${atFirst}.messageExpression`,
  ),
  create(
    'the reasons',
    spec({
      validations: ['Forbidden', 'Invalid', 'RequestEntityTooLarge'].map((reason) => ({ expression: 'true', reason })),
    }),
  ),
  create('a reason that is none', validation({ reason: 'NotFound' }), `NotSupported ${atFirst}.reason`),
  create('the reason Unauthorized', validation({ reason: 'Unauthorized' }), `NotSupported ${atFirst}.reason`),
  create('a variable', {
    spec: { variables: [{ name: 'a', expression: '[1]' }], validations: [{ expression: 'variables.a[0] == 1' }] },
  }),
  create(
    'a variable of another type',
    { spec: { variables: [{ name: 'a', expression: '[1]' }], validations: [{ expression: "variables.a[0] == 'x'" }] } },
    `Invalid ${atFirst}.expression`,
  ),
  create(
    'a variable before it is declared',
    variables({ name: 'a', expression: 'variables.b' }, { name: 'b', expression: '1' }),
    'Invalid spec.variables[0].expression',
  ),
  create('a variable without a name', variables({ name: '', expression: '1' }), 'Required spec.variables[0].name'),
  create('a variable with a dash', variables({ name: 'a-b', expression: '1' }), 'Invalid spec.variables[0].name'),
  create('a reserved word', variables({ name: 'namespace', expression: '1' }), 'Invalid spec.variables[0].name'),
  create(
    'a variable without an expression',
    variables({ name: 'a', expression: '' }),
    'Required spec.variables[0].expression',
  ),
  create('a match condition', conditions({ name: 'a', expression: 'request.operation == "CREATE"' })),
  create(
    'a match condition without a boolean',
    conditions({ name: 'a', expression: '1' }),
    'Invalid spec.matchConditions[0].expression',
  ),
  create(
    'a match condition without a name',
    conditions({ name: '', expression: 'true' }),
    'Required spec.matchConditions[0].name',
  ),
  create(
    'a match condition with a strange name',
    conditions({ name: 'a b', expression: 'true' }),
    'Invalid spec.matchConditions[0].name',
  ),
  create(
    'a match condition twice',
    conditions({ name: 'a', expression: 'true' }, { name: 'a', expression: 'true' }),
    'Duplicate spec.matchConditions[1].name',
  ),
  create(
    'a match condition without an expression',
    conditions({ name: 'a', expression: ' ' }),
    'Required spec.matchConditions[0].expression',
  ),
  create(
    'a match condition with variables',
    {
      spec: {
        variables: [{ name: 'a', expression: 'true' }],
        matchConditions: [{ name: 'a', expression: 'variables.a' }],
      },
    },
    'Invalid spec.matchConditions[0].expression',
  ),
  create('an annotation alone', {
    spec: { validations: null, auditAnnotations: [{ key: 'a', valueExpression: "'b'" }] },
  }),
  create('an annotation of null', annotations({ key: 'a', valueExpression: 'null' })),
  create(
    'an annotation of a number',
    annotations({ key: 'a', valueExpression: '1' }),
    'Invalid spec.auditAnnotations[0].valueExpression',
  ),
  create(
    'an annotation without a value',
    annotations({ key: 'a', valueExpression: '' }),
    'Required spec.auditAnnotations[0].valueExpression',
  ),
  create('a strange key', annotations({ key: 'a b', valueExpression: "'b'" }), 'Invalid spec.auditAnnotations[0].key'),
  create(
    'a key twice',
    annotations({ key: 'a', valueExpression: "'b'" }, { key: 'a', valueExpression: "'b'" }),
    'Duplicate spec.auditAnnotations[1].key',
  ),
  create(
    'a long annotation',
    annotations({ key: 'a', valueExpression: `'${'b'.repeat(5120)}'` }),
    'Required spec.auditAnnotations[0].valueExpression',
  ),
  create('parameters', {
    spec: { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' }, validations: [{ expression: "params.data.a == ''" }] },
  }),
  create('parameters without a kind', paramKind('v1', ''), 'Required spec.paramKind.kind'),
  create('parameters with a strange kind', paramKind('v1', 'A_B'), 'Invalid spec.paramKind.kind'),
  create('parameters without a version', paramKind(''), 'Required spec.paramKind.apiVersion'),
  create('parameters of no version', paramKind('apps/'), 'Invalid spec.paramKind.apiVersion'),
  create('parameters of two slashes', paramKind('a/b/c'), 'Invalid spec.paramKind.apiVersion'),
  create('parameters of a strange group', paramKind('A/v1'), 'Invalid spec.paramKind.apiVersion'),
  create('parameters of a strange version', paramKind('apps/1'), 'Invalid spec.paramKind.apiVersion'),
  change('a wrong expression later', {}, validation({ expression: '1' }), `Invalid ${atFirst}.expression`),
  change('a label', {}, { metadata: { labels: { a: 'b' } } }),
  replace('no version named', {}, {}, 'Invalid metadata.resourceVersion'),
  changeStatus('a status', {}, { status: { observedGeneration: 1, typeChecking: {} } }),
  changeStatus(
    'a warning without a text',
    {},
    { status: { typeChecking: { expressionWarnings: [{ fieldRef: 'spec', warning: '' }] } } },
    'Required status.typeChecking.expressionWarnings[0].warning',
  ),
  changeStatus(
    'a condition without a type',
    {},
    {
      status: {
        conditions: [
          { type: '', status: 'True', reason: 'A', message: '', lastTransitionTime: '2020-01-01T00:00:00Z' },
        ],
      },
    },
    'Invalid status.conditions[0].type',
  ),
])

const binding: Kind = {
  collection: `${group}/validatingadmissionpolicybindings`,
  valid: { metadata: { name: 'new' }, spec: { policyName: 'gone', validationActions: ['Deny'] } },
}
const paramRef = (fields: Fields) => spec({ paramRef: { parameterNotFoundAction: 'Deny', ...fields } })
const actions = (...validationActions: readonly string[]) => spec({ validationActions })

export const policyBindingCases = objectCases('ValidatingAdmissionPolicyBindings', binding, [
  create('nothing special', {}),
  create('no spec', { spec: null }, 'Required spec.policyName', 'Required spec.validationActions'),
  create('a strange policy', spec({ policyName: 'A' }), 'Invalid spec.policyName'),
  create('no actions', actions(), 'Required spec.validationActions'),
  create('an action that is none', actions('Log'), 'NotSupported spec.validationActions[0]'),
  create('a warning that is logged', actions('Warn', 'Audit')),
  create('a refusal with a warning', actions('Deny', 'Warn'), 'Invalid spec.validationActions'),
  create('a parameter', paramRef({ name: 'a' })),
  create('parameters by labels', paramRef({ selector: {}, namespace: 'default' })),
  create(
    'a parameter by name and labels',
    paramRef({ name: 'a', selector: {} }),
    'Forbidden spec.paramRef.name',
    'Forbidden spec.paramRef.selector',
  ),
  create('no parameter', paramRef({}), 'Required spec.paramRef'),
  create('a strange parameter', paramRef({ name: 'a/b' }), 'Invalid spec.paramRef.name'),
  create(
    'no action for lack of a parameter',
    paramRef({ name: 'a', parameterNotFoundAction: null }),
    'Required spec.paramRef.parameterNotFoundAction',
  ),
  create(
    'a wrong action for lack of a parameter',
    paramRef({ name: 'a', parameterNotFoundAction: 'Try' }),
    'NotSupported spec.paramRef.parameterNotFoundAction',
  ),
  create(
    'rules without resources',
    spec({ matchResources: { resourceRules: [{ ...rule, resources: [] }] } }),
    'Required spec.matchResources.resourceRules[0].resources',
  ),
  change('another policy', {}, spec({ policyName: 'other' })),
  replace('no version named', {}, {}, 'Invalid metadata.resourceVersion'),
])
