import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { serviceAccountTokens } from '../../../../src/api/access/service-account-tokens.ts'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { newTokenIssuer, testIssuer } from '../../../helpers/token-issuer.ts'

const accounts = '/api/v1/namespaces/default/serviceaccounts'
const pods = '/api/v1/namespaces/default/pods'
const whoami = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
const review = '/apis/authentication.k8s.io/v1/tokenreviews'

/** The claims of a token, its signature not checked. */
function claimsOf(token: string) {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
}

function pod(name: string, serviceAccountName: string, nodeName = 'node-1') {
  return { metadata: { name }, spec: { serviceAccountName, nodeName, containers: [{ name: 'c', image: 'i' }] } }
}

describe('tokens of service accounts', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
    for (const name of ['web', 'other']) await server.call('POST', accounts, { body: { metadata: { name } } })
  })
  after(() => server.stop())

  const request = (spec: object = {}, name = 'web', options = {}) =>
    server.call('POST', `${accounts}/${name}/token`, { body: { spec }, ...options })
  const tokenFor = async (spec: object = {}, name = 'web'): Promise<string> =>
    (await request(spec, name)).body.status.token
  const codeFor = async (token: string) => (await server.call('POST', whoami, { token, body: {} })).code

  test('a token is the account, for an hour and for this server where nothing else is asked', async () => {
    const { code, body } = await request()
    assert.equal(code, 201)
    assert.deepEqual([body.kind, body.apiVersion], ['TokenRequest', 'authentication.k8s.io/v1'])
    assert.deepEqual(body.spec, { audiences: [testIssuer], expirationSeconds: 3600 })
    const remainingMs = Date.parse(body.status.expirationTimestamp) - Date.now()
    assert.ok(remainingMs > 3_500_000 && remainingMs <= 3_600_000)
    const account = (await server.call('GET', `${accounts}/web`)).body
    const me = await server.call('POST', whoami, { token: body.status.token, body: {} })
    assert.deepEqual(me.body.status.userInfo, {
      username: 'system:serviceaccount:default:web',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
      uid: account.metadata.uid,
      extra: { 'authentication.kubernetes.io/credential-id': [`JTI=${claimsOf(body.status.token).jti}`] },
    })
  })

  test('roles bound to the account count, and no others', async () => {
    const token = await tokenFor()
    assert.equal((await server.call('GET', pods, { token })).code, 403)
    await server.call('POST', '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings', {
      body: {
        metadata: { name: 'web' },
        roleRef: { kind: 'ClusterRole', name: 'view' },
        subjects: [{ kind: 'ServiceAccount', name: 'web', namespace: 'default' }],
      },
    })
    assert.equal((await server.call('GET', pods, { token })).code, 200)
    assert.equal((await request({}, 'web', { token })).code, 403)
  })

  test('a request that cannot be met says which field is wrong', async () => {
    const table = [
      [{ expirationSeconds: 599 }, 422, /spec\.expirationSeconds: Invalid value: 599: may not specify .* 10 minutes/],
      [{ expirationSeconds: 2 ** 33 }, 422, /spec\.expirationSeconds: .* larger than 2\^32 seconds/],
      [{ audiences: 'a' }, 400, /spec\.audiences: expected/],
      [
        { boundObjectRef: { kind: 'ConfigMap', apiVersion: 'v1', name: 'x' } },
        400,
        /cannot bind token to object of type \/v1, Kind=ConfigMap/,
      ],
      [{ boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'gone' } }, 404, /pods "gone" not found/],
    ] as const
    for (const [spec, code, message] of table) {
      const reply = await request(spec)
      assert.equal(reply.code, code, JSON.stringify(spec))
      assert.match(reply.body.message, message)
    }
    assert.equal((await request({}, 'absent')).code, 404)
    assert.equal((await server.call('GET', `${accounts}/web/token`)).code, 405)
    const elsewhere = await server.call('POST', `${accounts}/web/token`, { body: { apiVersion: 'v1', kind: 'Pod' } })
    assert.equal(elsewhere.code, 400)
  })

  test('a token for another audience is not valid here; a review names its audience', async () => {
    const token = await tokenFor({ audiences: ['vault', 'mesh'], expirationSeconds: 600 })
    assert.equal(await codeFor(token), 401)
    const ask = async (spec: object) => (await server.call('POST', review, { body: { spec } })).body.status
    const found = await ask({ token, audiences: ['mesh', 'bank'] })
    assert.deepEqual([found.authenticated, found.audiences], [true, ['mesh']])
    assert.equal(found.user.username, 'system:serviceaccount:default:web')
    assert.deepEqual(await ask({ token, audiences: ['bank'] }), { authenticated: false })
    assert.deepEqual(await ask({ token }), { authenticated: false })
    assert.deepEqual((await ask({ token: await tokenFor() })).audiences, [testIssuer])
  })

  test('a token ends with its account, whose name alone is not enough', async () => {
    const path = `${accounts}/other`
    const token = await tokenFor({}, 'other')
    assert.equal(await codeFor(token), 201)
    await server.call('DELETE', path)
    assert.equal(await codeFor(token), 401)
    await server.call('POST', accounts, { body: { metadata: { name: 'other' } } })
    assert.equal(await codeFor(token), 401)
  })

  test('a token that is bound to a pod or secret ends with it', async () => {
    const made = await server.call('POST', pods, { body: pod('web-0', 'web') })
    const secrets = '/api/v1/namespaces/default/secrets'
    await server.call('POST', secrets, { body: { metadata: { name: 's' } } })
    await server.call('POST', '/api/v1/nodes', { body: { metadata: { name: 'n' } } })
    const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name: 'web-0', uid: made.body.metadata.uid }
    const tokens = [
      [await tokenFor({ boundObjectRef }), `${pods}/web-0?gracePeriodSeconds=0`],
      [await tokenFor({ boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: 's' } }), `${secrets}/s`],
      [await tokenFor({ boundObjectRef: { kind: 'Node', apiVersion: 'v1', name: 'n' } }), '/api/v1/nodes/n'],
    ] as const
    const me = await server.call('POST', whoami, { token: tokens[0][0], body: {} })
    const { 'authentication.kubernetes.io/credential-id': _, ...extra } = me.body.status.userInfo.extra
    assert.deepEqual(extra, {
      'authentication.kubernetes.io/pod-name': ['web-0'],
      'authentication.kubernetes.io/pod-uid': [made.body.metadata.uid],
      'authentication.kubernetes.io/node-name': ['node-1'],
    })
    assert.equal((await request({ boundObjectRef: { ...boundObjectRef, uid: 'other' } })).code, 409)
    assert.equal((await request({ boundObjectRef }, 'other')).code, 400)
    for (const [token, path] of tokens) {
      assert.equal(await codeFor(token), 201)
      await server.call('DELETE', path)
      assert.equal(await codeFor(token), 401)
    }
  })

  test('a node gets tokens for the pods that run on it, bound to them, for the audiences of their volumes', async () => {
    const volumes = [{ name: 't', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }]
    const vault = [{ name: 't', projected: { sources: [{ serviceAccountToken: { path: 't', audience: 'vault' } }] } }]
    const made = async (name: string, nodeName: string, ofVolumes: readonly object[]) => {
      const { metadata, spec } = pod(name, 'web', nodeName)
      const reply = await server.call('POST', pods, { body: { metadata, spec: { ...spec, volumes: ofVolumes } } })
      return { kind: 'Pod', apiVersion: 'v1', name, uid: reply.body.metadata.uid }
    }
    const here = await made('web-1', 'node-1', volumes)
    const forVault = await made('web-3', 'node-1', vault)
    const elsewhere = await made('web-2', 'node-2', volumes)
    const { certPem: cert, keyPem: key } = await server.authority.issue('system:node:node-1', 'system:nodes')
    const table = [
      [{ boundObjectRef: here }, 201, undefined],
      [{ boundObjectRef: elsewhere }, 403, /bound to a pod that runs on it/],
      [{}, 403, /bound to a pod that runs on it/],
      [{ boundObjectRef: { kind: 'Node', apiVersion: 'v1', name: 'node-1' } }, 403, /bound to a pod that runs on it/],
      [{ boundObjectRef: { ...here, uid: '' } }, 403, /without a uid/],
      [{ boundObjectRef: here, audiences: ['vault'] }, 403, /audience "vault" not found in pod spec volume/],
      [{ boundObjectRef: forVault, audiences: ['vault'] }, 201, undefined],
      [{ boundObjectRef: forVault, audiences: ['vault', 'mesh'] }, 403, /0 or 1 audiences/],
      [{ boundObjectRef: forVault }, 403, /audience "" not found/],
    ] as const
    for (const [spec, code, message] of table) {
      const reply = await request(spec, 'web', { token: null, tls: { cert, key } })
      assert.equal(reply.code, code, JSON.stringify(spec))
      if (message !== undefined) assert.match(reply.body.message, message)
    }
  })

  test('every account, and no other user, finds the keys that sign the tokens', async () => {
    const token = await tokenFor()
    const get = (path: string, as: string | null = token) => server.call('GET', path, { token: as })
    const configuration = await get('/.well-known/openid-configuration')
    assert.equal(configuration.body.issuer, testIssuer)
    assert.equal(configuration.body.jwks_uri, `${testIssuer}/openid/v1/jwks`)
    const keys = await get('/openid/v1/jwks')
    assert.equal(keys.headers['content-type'], 'application/jwk-set+json')
    const { kid } = JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString())
    assert.deepEqual(
      JSON.parse(keys.text).keys.map((each: { kid: string }) => each.kid),
      [kid],
    )
    assert.equal((await get('/openid/v1/jwks', null)).code, 401)
  })

  test('discovery has what tokens are asked with', async () => {
    const { resources } = (await server.call('GET', '/api/v1')).body
    const entry = resources.find(({ name }: { name: string }) => name === 'serviceaccounts/token')
    assert.deepEqual([entry.group, entry.version, entry.kind], ['authentication.k8s.io', 'v1', 'TokenRequest'])
    assert.deepEqual(entry.verbs, ['create'])
  })
})

test('a token is good from when it was issued until it expires, and a minute after its account is to be gone', async () => {
  const issuer = newTokenIssuer()
  await using server = await startTestServer()
  const body = { metadata: { name: 'web', finalizers: ['example.com/keep'] } }
  const { uid } = (await server.call('POST', accounts, { body })).body.metadata
  const issuedAt = Math.floor(Date.now() / 1000)
  const identity = { namespace: 'default', serviceaccount: { name: 'web', uid } }
  const token = issuer.sign({ identity, audiences: [testIssuer], issuedAt, expiresAt: issuedAt + 600, id: 'one' })
  const isGood = async (atSeconds: number) =>
    (await serviceAccountTokens(issuer, server.store, () => new Date(atSeconds * 1000))(token, [])) !== undefined
  assert.equal(await isGood(issuedAt - 2), false)
  assert.equal(await isGood(issuedAt), true)
  assert.equal(await isGood(issuedAt + 599), true)
  assert.equal(await isGood(issuedAt + 600), false)
  await server.call('DELETE', `${accounts}/web`)
  assert.equal(await isGood(issuedAt + 30), true)
  assert.equal(await isGood(issuedAt + 90), false)
})

test('in the platform dialect the claim has its name, and a client that knows only Kubernetes\u2019 is answered in kind', async () => {
  await using server = await startTestServer({ dialect: 'platform' })
  await server.call('POST', accounts, { body: { metadata: { name: 'web' } } })
  const path = `${accounts}/web/token`
  const own = await server.call('POST', path, { body: {} })
  assert.equal(own.body.apiVersion, 'authentication.platform.internal/v1')
  const payload = JSON.parse(Buffer.from(own.body.status.token.split('.')[1], 'base64url').toString())
  assert.equal(payload['platform.internal'].namespace, 'default')
  const apiVersion = 'authentication.k8s.io/v1'
  const theirs = await server.call('POST', path, { body: { kind: 'TokenRequest', apiVersion } })
  assert.deepEqual([theirs.code, theirs.body.apiVersion], [201, apiVersion])
})
