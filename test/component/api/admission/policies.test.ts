import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import type { JsonObject } from '../../../../src/model/api-object.ts'
import { type Reply, startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { untilAsync } from '../../../helpers/until.ts'

const group = '/apis/admissionregistration.k8s.io/v1'
const policies = `${group}/validatingadmissionpolicies`
const bindings = `${group}/validatingadmissionpolicybindings`
const configMaps = '/api/v1/namespaces/default/configmaps'

const onConfigMaps = {
  resourceRules: [
    { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE', 'DELETE'], resources: ['configmaps'] },
  ],
}

function policy(spec: JsonObject, name = 'p') {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: { matchConstraints: onConfigMaps, ...spec },
  }
}

function binding(spec: JsonObject = {}, name = 'b') {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name },
    spec: { policyName: 'p', validationActions: ['Deny'], ...spec },
  }
}

const configMap = (name: string, data: JsonObject = {}, metadata: JsonObject = {}) => ({
  metadata: { name, ...metadata },
  data,
})

describe('validating admission policies', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
  })
  after(() => server.stop())

  /** Removes what an earlier test has left, and installs a policy with its binding. */
  async function install(spec: JsonObject, bound: JsonObject = {}): Promise<void> {
    for (const path of [policies, bindings]) await server.call('DELETE', path)
    await expect(server.call('POST', policies, { body: policy(spec) }), 201)
    await expect(server.call('POST', bindings, { body: binding(bound) }), 201)
  }

  beforeEach(async () => {
    for (const path of [policies, bindings, configMaps]) await server.call('DELETE', path)
  })

  const create = (name: string, data: JsonObject = {}, metadata: JsonObject = {}) =>
    server.call('POST', configMaps, { body: configMap(name, data, metadata) })

  test('a request that breaks a validation is a 422 in the words of kube-apiserver', async () => {
    await install({ validations: [{ expression: 'object.data.size() < 2' }] })
    await expect(create('a', { x: '1' }), 201)
    const refused = await expect(create('b', { x: '1', y: '2' }), 422)
    const why =
      "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed expression: object.data.size() < 2"
    assert.deepEqual(refused.body, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: `configmaps "b" is forbidden: ${why}`,
      reason: 'Invalid',
      details: { name: 'b', kind: 'configmaps', causes: [{ message: why }] },
      code: 422,
    })
    await expect(server.call('GET', `${configMaps}/b`), 404)
  })

  test('updates and deletes see the old object', async () => {
    await install({
      validations: [
        { expression: "request.operation != 'UPDATE' || object.data == oldObject.data", message: 'data is kept' },
        { expression: "request.operation != 'DELETE' || (object == null && !has(oldObject.data.keep))" },
      ],
    })
    await expect(create('a', { keep: '1' }), 201)
    const changed = await expect(server.call('PUT', `${configMaps}/a`, { body: configMap('a', { keep: '2' }) }), 422)
    assert.match(changed.body.message, /denied request: data is kept$/)
    await expect(server.call('DELETE', `${configMaps}/a`), 422)
    await expect(server.call('DELETE', configMaps), 422)
    await expect(server.call('GET', `${configMaps}/a`), 200)
  })

  test('variables are evaluated in order, and a message expression shows them', async () => {
    await install({
      variables: [
        { name: 'keys', expression: 'object.data.map(key, key)' },
        { name: 'count', expression: 'variables.keys.size()' },
      ],
      validations: [
        {
          expression: 'variables.count < 2',
          messageExpression: "'found ' + string(variables.count) + ' keys'",
          reason: 'Forbidden',
        },
      ],
    })
    const refused = await expect(create('a', { x: '1', y: '2' }), 403)
    assert.match(refused.body.message, /denied request: found 2 keys$/)
    assert.equal(refused.body.reason, 'Forbidden')
  })

  test('an error denies, unless the policy ignores failures', async () => {
    const validations = [{ expression: "object.data.missing == 'x'" }]
    await install({ validations })
    const refused = await expect(create('a', { x: '1' }), 422)
    assert.match(
      refused.body.message,
      /expression 'object.data.missing == 'x'' resulted in error: no such key: missing$/,
    )
    await install({ validations, failurePolicy: 'Ignore' })
    await expect(create('a', { x: '1' }), 201)
  })

  test('a binding can warn instead', async () => {
    await install(
      { validations: [{ expression: 'false', message: 'never' }] },
      { validationActions: ['Warn', 'Audit'] },
    )
    const warned = await expect(create('a'), 201)
    assert.match(
      String(warned.headers['warning']),
      /Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': never/,
    )
  })

  test('match conditions leave requests out', async () => {
    await install({
      matchConditions: [{ name: 'not-by-tester', expression: "request.userInfo.username != 'tester'" }],
      validations: [{ expression: 'false' }],
    })
    await expect(create('a'), 201)
  })

  test('a parameter is read from the namespace of the request', async () => {
    const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' }
    const paramRef = { name: 'limits', parameterNotFoundAction: 'Deny' }
    const validations = [
      { expression: "object.metadata.name == 'limits' || object.data.size() <= int(params.data.max)" },
    ]
    await install({ paramKind, validations }, { paramRef })
    const missing = await expect(create('a'), 422)
    assert.match(missing.body.message, /failed to configure binding: no params found for policy binding with `Deny`/)
    await server.call('DELETE', `${bindings}/b`)
    await expect(create('limits', { max: '1' }), 201)
    await expect(server.call('POST', bindings, { body: binding({ paramRef }) }), 201)
    await expect(create('a', { x: '1' }), 201)
    await expect(create('b', { x: '1', y: '2' }), 422)
  })

  test('parameters are selected by labels, and each must hold', async () => {
    const labels = { limit: 'yes' }
    const paramRef = { selector: { matchLabels: labels }, namespace: 'default', parameterNotFoundAction: 'Allow' }
    for (const max of ['5', '1']) await expect(create(`max-${max}`, { max }, { labels }), 201)
    const validations = [{ expression: 'object.data.size() <= int(params.data.max)' }]
    const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' }
    await expect(server.call('POST', policies, { body: policy({ paramKind, validations }) }), 201)
    await expect(server.call('POST', bindings, { body: binding({ paramRef }) }), 201)
    await expect(create('a', { x: '1' }), 201)
    await expect(create('b', { x: '1', y: '2' }), 422)
  })

  test('the namespace and permissions of the user are known', async () => {
    await install({
      validations: [
        { expression: "namespaceObject.metadata.name == 'default'" },
        { expression: "authorizer.group('').resource('secrets').namespace('default').check('get').allowed()" },
        { expression: "authorizer.requestResource.check('create').allowed()" },
        { expression: "!authorizer.serviceAccount('default', 'default').path('/metrics').check('get').allowed()" },
      ],
    })
    await expect(create('a'), 201)
    await install({
      validations: [{ expression: "authorizer.serviceAccount('default', 'x').path('/x').check('get').allowed()" }],
    })
    await expect(create('b'), 422)
  })

  test('bindings narrow a policy down, by rules and by selectors', async () => {
    const validations = [{ expression: 'false' }]
    await install({ validations }, { matchResources: { objectSelector: { matchLabels: { strict: 'yes' } } } })
    await expect(create('a'), 201)
    await expect(create('b', {}, { labels: { strict: 'yes' } }), 422)
    await install({ validations }, { matchResources: { namespaceSelector: { matchLabels: { strict: 'yes' } } } })
    await expect(create('c'), 201)
  })

  test('dry runs, patches and applies are checked too', async () => {
    await install({ validations: [{ expression: "!has(object.data) || !('bad' in object.data)" }] })
    await expect(server.call('POST', `${configMaps}?dryRun=All`, { body: configMap('a', { bad: '1' }) }), 422)
    await expect(create('a', { good: '1' }), 201)
    const headers = { 'content-type': 'application/merge-patch+json' }
    await expect(server.call('PATCH', `${configMaps}/a`, { headers, body: { data: { bad: '1' } } }), 422)
    const apply = { 'content-type': 'application/apply-patch+yaml' }
    const applied = { apiVersion: 'v1', kind: 'ConfigMap', ...configMap('c', { bad: '1' }) }
    await expect(server.call('PATCH', `${configMaps}/c?fieldManager=me`, { headers: apply, body: applied }), 422)
  })

  test('the status says what does not fit the types', async () => {
    await install({
      matchConstraints: {
        resourceRules: [
          { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['deployments'] },
        ],
      },
      validations: [{ expression: 'object.spec.replicas > 1' }, { expression: 'object.spec.replica > 1' }],
    })
    const statusOf = async () => (await server.call('GET', `${policies}/p`)).body.status
    await untilAsync('the policy is checked', async () => (await statusOf()).observedGeneration === 1)
    const status = await statusOf()
    const [warning, ...more] = status.typeChecking.expressionWarnings
    assert.equal(more.length, 0)
    assert.equal(warning.fieldRef, 'spec.validations[1].expression')
    assert.match(warning.warning, /^apps\/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'replica'/)
  })

  test('a policy that does not compile is refused', async () => {
    const refused = await expect(
      server.call('POST', policies, {
        body: policy({ validations: [{ expression: 'object.spec' }, { expression: 'x' }] }),
      }),
      422,
    )
    assert.deepEqual(
      refused.body.details.causes.map(({ field }: { field: string }) => field),
      ['spec.validations[0].expression', 'spec.validations[1].expression'],
    )
    assert.match(refused.body.message, /must evaluate to bool but got dyn/)
  })

  test('policies see no policies', async () => {
    const any = { apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*'] }
    await install({ matchConstraints: { resourceRules: [any] }, validations: [{ expression: 'false' }] })
    await expect(create('a'), 422)
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
    await expect(server.call('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', { body: review }), 201)
    await expect(server.call('DELETE', `${policies}/p`), 200)
    await expect(create('a'), 201)
  })
})

async function expect(reply: Promise<Reply>, code: number): Promise<Reply> {
  const found = await reply
  assert.equal(found.code, code, found.text)
  return found
}
