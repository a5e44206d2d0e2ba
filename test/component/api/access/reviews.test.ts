import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { testIssuer } from '../../../helpers/token-issuer.ts'

const authorization = '/apis/authorization.k8s.io/v1'
const authentication = '/apis/authentication.k8s.io/v1'

describe('reviews', () => {
  let server: TestServer
  const review = (path: string, spec: object, token = 'viewer') => server.call('POST', path, { body: { spec }, token })
  before(async () => {
    const viewer = { token: 'viewer', user: { name: 'viewer', groups: ['people'], uid: 'u-1' } }
    server = await startTestServer({ tokens: [viewer] })
    await server.call('POST', '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings', {
      body: {
        metadata: { name: 'viewer' },
        roleRef: { kind: 'ClusterRole', name: 'view' },
        subjects: [{ kind: 'User', name: 'viewer' }],
      },
    })
  })
  after(() => server.stop())

  test('everybody may ask what they may, and nothing is stored', async () => {
    const { revision } = server.store
    const table = [
      [{ resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'default' } }, true],
      [{ resourceAttributes: { verb: 'get', resource: 'pods', subresource: 'status', namespace: 'default' } }, true],
      [{ resourceAttributes: { verb: 'delete', resource: 'pods', namespace: 'default' } }, false],
      [{ resourceAttributes: { verb: 'get', resource: 'pods' } }, false],
      [{ resourceAttributes: { verb: '*', resource: '*', group: '*', namespace: 'default' } }, false],
      [{ nonResourceAttributes: { verb: 'get', path: '/version' } }, true],
      [{ nonResourceAttributes: { verb: 'get', path: '/metrics' } }, false],
    ] as const
    for (const [spec, allowed] of table) {
      const reply = await review(`${authorization}/selfsubjectaccessreviews`, spec)
      assert.deepEqual([reply.code, reply.body.status], [201, { allowed }], JSON.stringify(spec))
    }
    assert.equal((await review(`${authorization}/selfsubjectaccessreviews`, {})).code, 422)
    assert.equal((await server.call('GET', `${authorization}/selfsubjectaccessreviews`)).code, 405)
    assert.equal(server.store.revision, revision)
  })

  test('a review shows the rights of others to users who may ask for them', async () => {
    const resourceAttributes = { verb: 'list', resource: 'services', namespace: 'default' }
    const path = `${authorization}/subjectaccessreviews`
    assert.equal((await review(path, { user: 'viewer', resourceAttributes })).code, 403)
    const token = 'a-token-for-tests'
    const allowed = async (spec: object, at = path) => (await review(at, spec, token)).body.status?.allowed
    assert.equal(await allowed({ user: 'viewer', resourceAttributes }), true)
    assert.equal(await allowed({ user: 'other', resourceAttributes }), false)
    assert.equal(await allowed({ groups: ['system:masters'], resourceAttributes }), true)
    const local = `${authorization}/namespaces/default/localsubjectaccessreviews`
    assert.equal(await allowed({ user: 'viewer', resourceAttributes }, local), true)
    const elsewhere = { user: 'viewer', resourceAttributes: { ...resourceAttributes, namespace: 'kube-system' } }
    assert.equal((await review(local, elsewhere, token)).code, 422)
  })

  test('a field selector in a question counts: without the binding for NetworkPolicies a node lists the pods on it alone', async () => {
    const allowed = async (fieldSelector: object) => {
      const resourceAttributes = { verb: 'list', resource: 'pods', fieldSelector }
      const asked = { user: 'system:node:n1', groups: ['system:nodes'], resourceAttributes }
      return (await review(`${authorization}/subjectaccessreviews`, asked, 'a-token-for-tests')).body.status.allowed
    }
    const on = (operator: string, ...values: readonly string[]) => ({
      requirements: [{ key: 'spec.nodeName', operator, values }],
    })
    assert.equal(await allowed(on('In', 'n2')), true, 'NetworkPolicies need the pods of all nodes')
    const binding = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/system:node-network-policy'
    assert.equal((await server.call('DELETE', binding)).code, 200)
    assert.equal(await allowed(on('In', 'n1')), true)
    assert.equal(await allowed({ rawSelector: 'spec.nodeName=n1' }), true)
    const others = [
      on('In', 'n2'),
      on('NotIn', 'n1'),
      on('In', 'n1', 'n2'),
      on('constructor', 'n1'),
      { rawSelector: '!' },
    ]
    for (const other of others) assert.equal(await allowed(other), false, JSON.stringify(other))
  })

  test('the rules of a namespace are listed', async () => {
    const { body } = await review(`${authorization}/selfsubjectrulesreviews`, { namespace: 'default' })
    const discovery = body.status.resourceRules.find(({ resources }: { resources: string[] }) =>
      resources.includes('endpointslices'),
    )
    assert.deepEqual(discovery.verbs, ['get', 'list', 'watch'])
    const other = await review(`${authorization}/selfsubjectrulesreviews`, { namespace: 'kube-system' })
    assert.ok(other.body.status.resourceRules.length < body.status.resourceRules.length)
    assert.ok(other.body.status.nonResourceRules.length > 0)
  })

  test('who one is, and whose token it is', async () => {
    const info = { username: 'viewer', groups: ['people', 'system:authenticated'], uid: 'u-1' }
    assert.deepEqual((await review(`${authentication}/selfsubjectreviews`, {})).body.status, { userInfo: info })
    const ask = (spec: object) => review(`${authentication}/tokenreviews`, spec, 'a-token-for-tests')
    const here = { authenticated: true, user: info, audiences: [testIssuer] }
    const table = [
      [{ token: 'viewer' }, here],
      [{ token: 'viewer', audiences: [testIssuer, 'vault'] }, here],
      [{ token: 'viewer', audiences: ['vault'] }, { authenticated: false }],
      [{ token: 'wrong' }, { authenticated: false }],
      [{ token: 'wrong', audiences: [testIssuer] }, { authenticated: false }],
    ] as const
    for (const [spec, status] of table) assert.deepEqual((await ask(spec)).body.status, status, JSON.stringify(spec))
    assert.equal((await ask({ token: '' })).code, 400)
  })
})
