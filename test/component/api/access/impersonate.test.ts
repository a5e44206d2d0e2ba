import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { paths } from '../../../helpers/manifests.ts'

const rbac = '/apis/rbac.authorization.k8s.io/v1'
const whoami = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
const review = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'

type Headers = Readonly<Record<string, string | readonly string[]>>

/** What each caller may impersonate, as rules of its ClusterRole. */
const callers: Readonly<Record<string, readonly object[]>> = {
  outsider: [],
  everyone: [{ apiGroups: ['', 'authentication.k8s.io'], resources: ['*'], verbs: ['impersonate'] }],
  usersOnly: [{ apiGroups: [''], resources: ['users'], verbs: ['impersonate'] }],
  janeOnly: [
    { apiGroups: [''], resources: ['users'], verbs: ['impersonate'], resourceNames: ['jane'] },
    { apiGroups: [''], resources: ['groups'], verbs: ['impersonate'], resourceNames: ['people'] },
    { apiGroups: ['authentication.k8s.io'], resources: ['uids'], verbs: ['impersonate'], resourceNames: ['7'] },
    {
      apiGroups: ['authentication.k8s.io'],
      resources: ['userextras/scopes', 'userextras/acme.com/project'],
      verbs: ['impersonate'],
      resourceNames: ['read', 'p'],
    },
  ],
}

describe('impersonation', () => {
  let server: TestServer
  before(async () => {
    const tokens = Object.keys(callers).map((name) => ({ token: name, user: { name, groups: [] } }))
    server = await startTestServer({ tokens })
    const create = async (path: string, body: object) => {
      const reply = await server.call('POST', path, { body })
      assert.equal(reply.code, 201, reply.text)
    }
    for (const [name, rules] of Object.entries(callers)) {
      const roleName = name.toLowerCase()
      await create(`${rbac}/clusterroles`, { metadata: { name: roleName }, rules })
      const roleRef = { kind: 'ClusterRole', name: roleName }
      const subjects = [{ kind: 'User', name }]
      await create(`${rbac}/clusterrolebindings`, { metadata: { name: roleName }, roleRef, subjects })
    }
    await create(`${rbac}/clusterrolebindings`, {
      metadata: { name: 'reviews-for-all' },
      roleRef: { kind: 'ClusterRole', name: 'system:basic-user' },
      subjects: [{ kind: 'Group', name: 'system:unauthenticated' }],
    })
    const subjects = [
      { kind: 'User', name: 'jane' },
      { kind: 'ServiceAccount', name: 'web', namespace: 'default' },
    ]
    const roleRef = { kind: 'ClusterRole', name: 'view' }
    await create(`${rbac}/namespaces/default/rolebindings`, { metadata: { name: 'jane' }, roleRef, subjects })
  })
  after(() => server.stop())

  const call = (token: string | null, headers: Headers, method = 'POST', path = whoami, body: unknown = {}) =>
    server.call(method, path, {
      token,
      headers: headers as Record<string, string>,
      ...(method === 'GET' || method === 'DELETE' ? {} : { body }),
    })
  const identity = async (token: string, headers: Headers) => {
    const reply = await call(token, headers)
    assert.equal(reply.code, 201, `${JSON.stringify(headers)}: ${reply.text}`)
    return reply.body.status.userInfo
  }
  const account = 'system:serviceaccount:default:web'

  test('the caller is the user that it names, with the groups, uid and extra that it names', async () => {
    const table: readonly (readonly [string, Headers, object])[] = [
      ['outsider', {}, { username: 'outsider', groups: ['system:authenticated'] }],
      ['everyone', { 'Impersonate-User': 'jane' }, { username: 'jane', groups: ['system:authenticated'] }],
      [
        'everyone',
        { 'Impersonate-User': 'jane', 'Impersonate-Group': ['a', 'b, c'], 'Impersonate-Uid': '7' },
        { username: 'jane', groups: ['a', 'b, c', 'system:authenticated'], uid: '7' },
      ],
      [
        'everyone',
        { 'Impersonate-User': 'jane', 'Impersonate-Group': 'system:authenticated' },
        { username: 'jane', groups: ['system:authenticated'] },
      ],
      [
        'everyone',
        { 'Impersonate-User': 'jane', 'Impersonate-Group': 'system:unauthenticated' },
        { username: 'jane', groups: ['system:unauthenticated'] },
      ],
      [
        'everyone',
        { 'Impersonate-User': account },
        {
          username: account,
          groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
        },
      ],
      [
        'everyone',
        { 'Impersonate-User': account, 'Impersonate-Group': 'only' },
        { username: account, groups: ['only', 'system:authenticated'] },
      ],
      [
        'everyone',
        { 'Impersonate-User': 'system:anonymous' },
        { username: 'system:anonymous', groups: ['system:unauthenticated'] },
      ],
      [
        'everyone',
        {
          'Impersonate-User': 'jane',
          'Impersonate-Extra-Scopes': ['read', 'write'],
          'Impersonate-Extra-acme.com%2FProject': 'p',
          'Impersonate-Extra-broken%zz': 'q',
        },
        {
          username: 'jane',
          groups: ['system:authenticated'],
          extra: { scopes: ['read', 'write'], 'acme.com/project': ['p'], 'broken%zz': ['q'] },
        },
      ],
      [
        'everyone',
        { 'Impersonate-User': Buffer.from('jürgen').toString('latin1') },
        { username: 'jürgen', groups: ['system:authenticated'] },
      ],
      ['usersOnly', { 'Impersonate-User': 'jane' }, { username: 'jane', groups: ['system:authenticated'] }],
      [
        'janeOnly',
        {
          'Impersonate-User': 'jane',
          'Impersonate-Group': 'people',
          'Impersonate-Uid': '7',
          'Impersonate-Extra-Scopes': 'read',
          'Impersonate-Extra-Acme.com%2fproject': 'p',
        },
        {
          username: 'jane',
          groups: ['people', 'system:authenticated'],
          uid: '7',
          extra: { scopes: ['read'], 'acme.com/project': ['p'] },
        },
      ],
      ['outsider', { 'Impersonate-Proxy': 'x' }, { username: 'outsider', groups: ['system:authenticated'] }],
    ]
    for (const [token, headers, expected] of table) assert.deepEqual(await identity(token, headers), expected)
  })

  test('each thing that a caller names needs the verb impersonate', async () => {
    const jane = { 'Impersonate-User': 'jane' }
    const table: readonly (readonly [string, Headers, string])[] = [
      [
        'outsider',
        jane,
        'users "jane" is forbidden: User "outsider" cannot impersonate resource "users" in API group ""',
      ],
      ['usersOnly', { ...jane, 'Impersonate-Group': 'system:masters' }, 'groups "system:masters" is forbidden'],
      ['usersOnly', { ...jane, 'Impersonate-Uid': '7' }, 'uids.authentication.k8s.io "7" is forbidden'],
      ['usersOnly', { ...jane, 'Impersonate-Extra-scopes': 'read' }, 'cannot impersonate resource "userextras/scopes"'],
      ['usersOnly', { 'Impersonate-User': account }, 'serviceaccounts "web" is forbidden'],
      ['janeOnly', { 'Impersonate-User': 'root' }, 'users "root" is forbidden'],
      [
        'janeOnly',
        { ...jane, 'Impersonate-Group': ['people', 'system:masters'] },
        'groups "system:masters" is forbidden',
      ],
      [
        'janeOnly',
        { ...jane, 'Impersonate-Extra-scopes': ['read', 'write'] },
        'userextras.authentication.k8s.io "write"',
      ],
      ['janeOnly', { ...jane, 'Impersonate-Extra-Acme.com%2Fother': 'p' }, 'resource "userextras/acme.com/other"'],
      ['janeOnly', { ...jane, 'Impersonate-Uid': '8' }, 'uids.authentication.k8s.io "8" is forbidden'],
    ]
    for (const [token, headers, message] of table) {
      const reply = await call(token, headers)
      assert.deepEqual([reply.code, reply.body.reason], [403, 'Forbidden'], JSON.stringify(headers))
      assert.ok(reply.body.message.includes(message), reply.body.message)
    }
  })

  test('headers that name no user are refused, and callers without an identity too', async () => {
    for (const headers of [
      { 'Impersonate-Group': 'system:masters' },
      { 'Impersonate-Uid': '1' },
      { 'Impersonate-Extra-scopes': 'all' },
      { 'Impersonate-User': '' },
    ]) {
      for (const token of ['outsider', 'a-token-for-tests'])
        assert.equal((await call(token, headers)).code, 400, JSON.stringify(headers))
    }
    for (const path of ['/healthz', '/version', whoami])
      assert.equal((await call(null, { 'Impersonate-User': 'jane' }, 'GET', path)).code, 401)
  })

  test('every kind of request has the rights of the impersonated user', async () => {
    const pod = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } }
    assert.equal((await server.call('POST', paths.pods, { body: pod })).code, 201)
    const merge = { 'content-type': 'application/merge-patch+json' }
    const table = [
      ['GET', paths.pods, undefined, 200],
      ['GET', `${paths.pods}/p`, undefined, 200],
      ['GET', '/api/v1/pods', undefined, 403],
      ['GET', '/api/v1/nodes', undefined, 403],
      ['GET', `/api/v1/namespaces/kube-system/pods?watch=1&timeoutSeconds=1`, undefined, 403],
      ['GET', '/metrics', undefined, 403],
      ['GET', '/healthz', undefined, 200],
      ['POST', paths.pods, pod, 403],
      ['PATCH', `${paths.pods}/p/status`, { status: {} }, 403],
      ['POST', `${paths.pods}/p/eviction`, { metadata: { name: 'p' } }, 403],
      ['POST', `${paths.pods}/p/binding`, { target: { name: 'n' } }, 403],
      ['DELETE', `${paths.pods}/p`, undefined, 403],
    ] as const
    // The first caller has no rights but that of being jane, the second all rights but, as jane, only hers.
    for (const token of ['usersOnly', 'a-token-for-tests'])
      for (const [method, path, body, code] of table) {
        const headers = { 'Impersonate-User': 'jane', ...(method === 'PATCH' && merge) }
        const reply = await call(token, headers, method, path, body)
        assert.equal(reply.code, code, `${token} ${method} ${path}: ${reply.text}`)
      }
    const watch = server.watch(`${paths.pods}?watch=1&timeoutSeconds=5`, { 'Impersonate-User': 'jane' })
    assert.equal((await watch.next()).value?.object.metadata.name, 'p')
    await watch.return(undefined)
  })

  test('no role is granted with the rights of the caller', async () => {
    const body = {
      metadata: { name: 'mine' },
      roleRef: { kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'User', name: 'jane' }],
    }
    const path = `${rbac}/clusterrolebindings`
    assert.equal((await call('a-token-for-tests', { 'Impersonate-User': 'jane' }, 'POST', path, body)).code, 403)
    const headers = { 'Impersonate-User': 'jane', 'Impersonate-Group': 'system:masters' }
    assert.equal((await call('a-token-for-tests', headers, 'POST', path, { ...body, dryRun: ['All'] })).code, 201)
    assert.equal((await server.call('DELETE', `${path}/mine`)).code, 200)
  })

  test('a node impersonates nothing, and an impersonated node is held to what a node may do', async () => {
    const { certPem: cert, keyPem: key } = await server.authority.issue('system:node:n', 'system:nodes')
    const headers = { 'Impersonate-User': 'jane' }
    const asNode = await server.call('POST', whoami, { token: null, tls: { cert, key }, headers, body: {} })
    assert.equal(asNode.code, 403)
    const node = { 'Impersonate-User': 'system:node:n', 'Impersonate-Group': 'system:nodes' }
    const create = async (name: string) =>
      (await call('a-token-for-tests', node, 'POST', '/api/v1/nodes', { metadata: { name } })).code
    assert.deepEqual([await create('n'), await create('other')], [201, 403])
  })

  test('a review answers for the impersonated user', async () => {
    const ask = async (verb: string) => {
      const spec = { resourceAttributes: { verb, resource: 'pods', namespace: 'default' } }
      return (await call('a-token-for-tests', { 'Impersonate-User': 'jane' }, 'POST', review, { spec })).body.status
    }
    assert.deepEqual([await ask('get'), await ask('delete')], [{ allowed: true }, { allowed: false }])
  })
})
