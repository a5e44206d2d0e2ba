import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { evaluatePolicy } from '../../../../src/api/admission/policies/evaluate-policy.ts'
import { compilePolicy } from '../../../../src/api/admission/policies/policy.ts'
import type { PolicyInput } from '../../../../src/api/cel/admission/evaluate-policy-expression.ts'
import type { Access, AccessQuestion } from '../../../../src/api/cel/library/authorizer.ts'
import { inOnePiece } from '../../../../src/loop/time-slice.ts'
import type { JsonObject } from '../../../../src/model/api-object.ts'

function evaluate(spec: JsonObject, changes: Partial<PolicyInput> = {}) {
  const kind = 'ValidatingAdmissionPolicy'
  const policy = { kind, apiVersion: 'admissionregistration.k8s.io/v1', metadata: { name: 'p' }, spec }
  const access: Access = { allows: () => true, ofServiceAccount: () => access }
  const input: PolicyInput = {
    object: { data: { a: '1' } },
    oldObject: null,
    params: null,
    request: { operation: 'CREATE' },
    namespaceObject: { metadata: { name: 'default' } },
    access,
    requestResource: {
      ...{ kind: 'resource', group: '', resource: 'configmaps', subresource: '' },
      ...{ namespace: 'default', name: 'x', fieldSelector: '' },
    },
    ...changes,
  }
  return inOnePiece(evaluatePolicy(compilePolicy(policy), input))
}

const messagesOf = (spec: JsonObject, changes: Partial<PolicyInput> = {}) =>
  evaluate(spec, changes).failures.map(({ message }) => message)

describe('the evaluation of a policy', () => {
  test('a message comes from its expression, else from the message, else from the expression that fails', () => {
    const made = { expression: 'false', message: 'fixed', messageExpression: "'made ' + object.data.a" }
    const broken = { ...made, messageExpression: 'string(object.data.z)' }
    const lines = { ...made, messageExpression: "'a\\nb'" }
    const validations = [made, broken, lines, { expression: ' false ' }, { expression: 'true' }]
    assert.deepEqual(messagesOf({ validations }), ['made 1', 'fixed', 'fixed', 'failed expression: false'])
  })

  test('an error fails a validation, unless the policy ignores failures; one that does not hold always does', () => {
    const validations = [{ expression: "object.data.z == ''" }, { expression: 'false', message: 'm' }]
    const error = "expression 'object.data.z == ''' resulted in error: no such key: z"
    assert.deepEqual(messagesOf({ validations }), [error, 'm'])
    assert.deepEqual(messagesOf({ validations, failurePolicy: 'Ignore' }), ['m'])
  })

  test('a variable is evaluated once, when it is first read', () => {
    let asked = 0
    const access: Access = { allows: () => ++asked > 0, ofServiceAccount: () => access }
    const variables = [
      { name: 'unused', expression: 'object.data.z' },
      { name: 'allowed', expression: "authorizer.path('/a').check('get').allowed()" },
    ]
    const validations = ['variables.allowed', 'variables.allowed && variables.allowed'].map((expression) => ({
      expression,
    }))
    assert.deepEqual(messagesOf({ variables, validations }, { access }), [])
    assert.equal(asked, 1)
  })

  test('questions to the authorizer name what the expression names', () => {
    const questions: AccessQuestion[] = []
    const access: Access = { allows: (question) => questions.push(question) > 0, ofServiceAccount: () => access }
    const expressions = [
      "authorizer.group('apps').resource('deployments').subresource('scale').namespace('n').name('x').check('update').allowed()",
      "authorizer.requestResource.check('create').allowed()",
      "authorizer.path('/healthz').check('get').allowed()",
    ]
    assert.deepEqual(messagesOf({ validations: expressions.map((expression) => ({ expression })) }, { access }), [])
    const rest = { kind: 'resource', fieldSelector: '' }
    assert.deepEqual(questions, [
      {
        ...rest,
        group: 'apps',
        resource: 'deployments',
        subresource: 'scale',
        namespace: 'n',
        name: 'x',
        verb: 'update',
      },
      { ...rest, group: '', resource: 'configmaps', subresource: '', namespace: 'default', name: 'x', verb: 'create' },
      { kind: 'path', path: '/healthz', verb: 'get' },
    ])
  })

  test('expressions that cost too much end the evaluation by the failure policy', () => {
    const question = "authorizer.path('/a').check('get').allowed()"
    const validations = Array.from({ length: 16 }, () => ({ expression: `${question} && ${question}` }))
    const [message, ...more] = messagesOf({ validations })
    assert.match(message ?? '', /^validation failed due to running out of cost budget/)
    assert.deepEqual(more, [])
    assert.deepEqual(messagesOf({ validations, failurePolicy: 'Ignore' }), [])
    const expensive = [{ expression: `[1, 2, 3].all(each, ${question})` }]
    assert.match(messagesOf({ validations: expensive })[0] ?? '', /operation cancelled: actual cost limit exceeded$/)
  })

  test('a match condition that is false decides, whatever others say', () => {
    const validations = [{ expression: 'false', message: 'm' }]
    const [broken, wrong] = ["object.data.z == ''", "request.operation == 'DELETE'"].map((expression, index) => ({
      name: `c${index}`,
      expression,
    }))
    const conditions = (...list: readonly unknown[]) => ({
      validations,
      matchConditions: list as readonly JsonObject[],
    })
    assert.deepEqual(messagesOf(conditions(broken, wrong)), [])
    assert.match(messagesOf(conditions(broken))[0] ?? '', /no such key: z$/)
    assert.deepEqual(messagesOf({ ...conditions(broken), failurePolicy: 'Ignore' }), [])
    assert.deepEqual(messagesOf(conditions({ name: 'n', expression: 'namespaceObject == null' })), ['m'])
  })

  test('annotations are texts; null and empty ones are left out, an error denies', () => {
    const auditAnnotations = [
      { key: 'a', valueExpression: "'x' + object.data.a" },
      { key: 'b', valueExpression: 'null' },
      { key: 'c', valueExpression: "' '" },
      { key: 'd', valueExpression: 'string(object.data.z)' },
    ]
    const { annotations, annotationErrors } = evaluate({ auditAnnotations })
    assert.deepEqual(annotations, [{ key: 'a', value: 'x1' }])
    assert.deepEqual(annotationErrors, ["expression 'string(object.data.z)' resulted in error: no such key: z"])
    assert.deepEqual(evaluate({ auditAnnotations, failurePolicy: 'Ignore' }).annotationErrors, [])
  })
})
