import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import type { JsonObject } from '../../../../src/model/api-object.ts'
import { type Reply, startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { untilAsync } from '../../../helpers/until.ts'

const group = '/apis/admissionregistration.k8s.io/v1'
const apiVersion = 'admissionregistration.k8s.io/v1'
const [policies, bindings] = [`${group}/validatingadmissionpolicies`, `${group}/validatingadmissionpolicybindings`]
const deployments = '/apis/apps/v1/namespaces/default/deployments'
const gadgets = '/apis/example.com/v1/namespaces/default/gadgets'

const spec = { type: 'object', properties: { size: { type: 'integer' }, color: { type: 'string' } } }
const openAPIV3Schema = { type: 'object', properties: { spec } }
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'gadgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'gadgets', kind: 'Gadget' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
  },
}

const deployment = {
  metadata: { name: 'web' },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'a', image: 'a' }] } },
  },
}

const gadget = (name: string, fields: JsonObject) => ({
  ...{ apiVersion: 'example.com/v1', kind: 'Gadget' },
  metadata: { name },
  spec: fields,
})

describe('policies on kinds and subresources', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
    await server.call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { body: definition })
    await server.call('POST', deployments, { body: deployment })
  })
  after(() => server.stop())
  afterEach(async () => {
    for (const path of [policies, bindings]) await server.call('DELETE', path)
  })

  async function install(rule: JsonObject, validation: JsonObject, more: JsonObject = {}): Promise<void> {
    const resourceRules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], ...rule }]
    const policy = { matchConstraints: { resourceRules }, validations: [validation], ...more }
    const bound = { policyName: 'p', validationActions: ['Deny'] }
    const [ofPolicy, ofBinding] = ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding']
    const metadata = { name: 'p' }
    await expect(server.call('POST', policies, { body: { apiVersion, kind: ofPolicy, metadata, spec: policy } }), 201)
    await expect(server.call('POST', bindings, { body: { apiVersion, kind: ofBinding, metadata, spec: bound } }), 201)
  }

  const merge = (path: string, body: JsonObject) =>
    server.call('PATCH', path, { body, headers: { 'content-type': 'application/merge-patch+json' } })

  test('a custom resource is checked, and its schema gives the types', async () => {
    const rule = { apiGroups: ['example.com'], resources: ['gadgets'] }
    await install(rule, { expression: 'object.spec.size < 5', messageExpression: "'size ' + string(object.spec.size)" })
    await expect(server.call('POST', gadgets, { body: gadget('small', { size: 1 }) }), 201)
    const refused = await expect(server.call('POST', gadgets, { body: gadget('large', { size: 7 }) }), 422)
    assert.match(refused.body.message, /^gadgets.example.com "large" is forbidden: .* denied request: size 7$/)
    await expect(merge(`${gadgets}/small`, { spec: { size: 5 } }), 422)
    for (const path of [policies, bindings]) await server.call('DELETE', path)
    await install(rule, { expression: "object.spec.size < 5 && object.spec.weight == 'x'" })
    const status = async () => (await server.call('GET', `${policies}/p`)).body.status
    await untilAsync('the policy is checked', async () => (await status()).observedGeneration === 1)
    const [warning] = (await status()).typeChecking.expressionWarnings
    assert.match(warning.warning, /^example.com\/v1, Kind=Gadget: ERROR: <input>:1:36: undefined field 'weight'/)
  })

  test('parameters can be custom resources', async () => {
    await expect(server.call('POST', gadgets, { body: gadget('limit', { size: 2 }) }), 201)
    const paramKind = { apiVersion: 'example.com/v1', kind: 'Gadget' }
    await install(
      { apiGroups: ['apps'], resources: ['deployments'] },
      { expression: 'object.spec.replicas <= params.spec.size' },
      { paramKind },
    )
    const paramRef = { name: 'limit', parameterNotFoundAction: 'Deny' }
    await expect(merge(`${bindings}/p`, { spec: { paramRef } }), 200)
    await expect(merge(`${deployments}/web`, { spec: { replicas: 3 } }), 422)
    await expect(merge(`${deployments}/web`, { spec: { replicas: 2 } }), 200)
  })

  test('a scale is checked as a Scale, and the object as such', async () => {
    await install({ apiGroups: ['apps'], resources: ['deployments/scale'] }, { expression: 'object.spec.replicas < 9' })
    await expect(merge(`${deployments}/web/scale`, { spec: { replicas: 9 } }), 422)
    await expect(merge(`${deployments}/web/scale`, { spec: { replicas: 8 } }), 200)
    await expect(merge(`${deployments}/web`, { spec: { replicas: 9 } }), 200)
  })

  test('an eviction, a binding and a token are checked by their body, not by what they write', async () => {
    const pods = '/api/v1/namespaces/default/pods'
    await server.call('POST', pods, {
      body: { metadata: { name: 'idle' }, spec: { containers: [{ name: 'a', image: 'a' }] } },
    })
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'idle', namespace: 'default' } }
    const evict = () => server.call('POST', `${pods}/idle/eviction`, { body: eviction })
    const bind = () =>
      server.call('POST', `${pods}/idle/binding`, {
        body: { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'idle' }, target: { kind: 'Node', name: 'n' } },
      })
    await install({ operations: ['CREATE'], resources: ['pods/eviction', 'pods/binding'] }, { expression: 'false' })
    for (const refused of [await evict(), await bind()]) assert.equal(refused.code, 422, refused.text)
    for (const path of [policies, bindings]) await server.call('DELETE', path)
    await install({ operations: ['UPDATE', 'DELETE'], resources: ['pods'] }, { expression: 'false' })
    await expect(bind(), 201)
    await expect(evict(), 201)
  })

  test('the deletion of a namespace is checked, with the Namespace as the old object', async () => {
    await server.call('POST', '/api/v1/namespaces', { body: { metadata: { name: 'kept', labels: { keep: 'yes' } } } })
    const expression = "!('keep' in oldObject.metadata.labels)"
    await install({ operations: ['DELETE'], resources: ['namespaces'] }, { expression, reason: 'Forbidden' })
    await expect(server.call('DELETE', '/api/v1/namespaces/kept'), 403)
    await expect(server.call('GET', '/api/v1/namespaces/kept'), 200)
  })

  test('a connection is checked by its options', async () => {
    const exec = '/api/v1/namespaces/default/pods/idle/exec?command=sh&stdin=true&container=a'
    await install(
      { operations: ['CONNECT'], resources: ['pods/exec'] },
      {
        expression: "!('sh' in object.command)",
        messageExpression: "string(object.kind) + ' ' + string(object.container)",
      },
    )
    const refused = await expect(server.call('GET', exec), 422)
    assert.match(refused.body.message, /^pods "idle" is forbidden: .* denied request: PodExecOptions a$/)
  })

  test('who may not read the parameters may not write a policy about them', async () => {
    const user = { headers: { 'impersonate-user': 'jane' } }
    const role = { rules: [{ apiGroups: ['admissionregistration.k8s.io'], resources: ['*'], verbs: ['*'] }] }
    const rbac = '/apis/rbac.authorization.k8s.io/v1'
    await server.call('POST', `${rbac}/clusterroles`, { body: { metadata: { name: 'policies' }, ...role } })
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'policies' }
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }]
    await server.call('POST', `${rbac}/clusterrolebindings`, { body: { metadata: { name: 'p' }, roleRef, subjects } })
    const paramKind = { apiVersion: 'v1', kind: 'Secret' }
    const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }
    const of = (more: JsonObject) => ({
      metadata: { name: 'q' },
      spec: { matchConstraints: { resourceRules: [rule] }, validations: [{ expression: 'true' }], ...more },
    })
    const refused = await expect(server.call('POST', policies, { body: of({ paramKind }), ...user }), 422)
    assert.match(refused.body.message, /spec.paramKind: Forbidden: user jane must have "get" permission on all objects/)
    await expect(server.call('POST', policies, { body: of({}), ...user }), 201)
    const paramRef = { name: 'a', parameterNotFoundAction: 'Deny' }
    const bound = { metadata: { name: 'q' }, spec: { policyName: 'q', validationActions: ['Deny'], paramRef } }
    const unbound = await expect(server.call('POST', bindings, { body: bound, ...user }), 422)
    assert.match(unbound.body.message, /spec.paramRef: Forbidden: user jane does not have "get" permission/)
  })
})

async function expect(reply: Promise<Reply>, code: number): Promise<Reply> {
  const found = await reply
  assert.equal(found.code, code, found.text)
  return found
}
