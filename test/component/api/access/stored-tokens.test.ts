import assert from 'node:assert/strict'
import { sign } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { newSigningKey, testIssuer } from '../../../helpers/token-issuer.ts'

const namespace = '/api/v1/namespaces/default'
const whoami = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
const review = '/apis/authentication.k8s.io/v1/tokenreviews'
const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')

/** A token as kube-controller-manager writes it into a Secret: it names its key in another way than this server. */
function storedToken(keyPem: string, claims: object): string {
  const content = `${encode({ alg: 'ES256', kid: 'of-the-controller' })}.${encode(claims)}`
  const signature = sign('sha256', Buffer.from(content), { key: keyPem, dsaEncoding: 'ieee-p1363' })
  return `${content}.${signature.toString('base64url')}`
}

describe('tokens that a token controller has written into Secrets', () => {
  const keyPem = newSigningKey()
  let server: TestServer
  let uid: string
  before(async () => {
    server = await startTestServer({ serviceAccountKeyPem: keyPem })
    const account = await server.call('POST', `${namespace}/serviceaccounts`, { body: { metadata: { name: 'web' } } })
    uid = account.body.metadata.uid
  })
  after(() => server.stop())

  const claims = (secret: string, change: Readonly<Record<string, unknown>> = {}) => ({
    iss: 'kubernetes/serviceaccount',
    'kubernetes.io/serviceaccount/namespace': 'default',
    'kubernetes.io/serviceaccount/secret.name': secret,
    'kubernetes.io/serviceaccount/service-account.name': 'web',
    'kubernetes.io/serviceaccount/service-account.uid': uid,
    sub: 'system:serviceaccount:default:web',
    ...change,
  })
  /** Creates a Secret with a token, and returns the token. */
  const keep = async (name: string, token: string): Promise<string> => {
    const annotations = { 'kubernetes.io/service-account.name': 'web' }
    const stringData = { token }
    const body = { metadata: { name, annotations }, type: 'kubernetes.io/service-account-token', stringData }
    assert.equal((await server.call('POST', `${namespace}/secrets`, { body })).code, 201)
    return token
  }
  const codeFor = async (token: string) => (await server.call('POST', whoami, { token, body: {} })).code

  test('are the account, for this server alone, until the Secret is gone', async () => {
    const token = await keep('first', storedToken(keyPem, claims('first')))
    const me = await server.call('POST', whoami, { token, body: {} })
    assert.deepEqual(me.body.status?.userInfo, {
      username: 'system:serviceaccount:default:web',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
      uid,
    })
    const known = async (...audiences: string[]) =>
      (await server.call('POST', review, { body: { spec: { token, audiences } } })).body.status
    assert.deepEqual((await known()).audiences, [testIssuer])
    assert.equal((await known('another')).authenticated ?? false, false)
    assert.equal((await server.call('DELETE', `${namespace}/secrets/first`)).code, 200)
    assert.equal(await codeFor(token), 401)
  })

  test('are refused where another key signed them, the Secret holds another one, or the claims are not right', async () => {
    const good = claims('other')
    await keep('other', storedToken(keyPem, good))
    assert.equal(await codeFor(storedToken(keyPem, { ...good, more: 1 })), 401)
    const wrong: readonly (readonly [string, string])[] = [
      ['of-another-key', storedToken(newSigningKey(), claims('of-another-key'))],
      ['of-another-issuer', storedToken(keyPem, claims('of-another-issuer', { iss: 'someone' }))],
      [
        'of-another-uid',
        storedToken(keyPem, claims('of-another-uid', { 'kubernetes.io/serviceaccount/service-account.uid': 'x' })),
      ],
      ['without-account', storedToken(keyPem, claims('', { 'kubernetes.io/serviceaccount/secret.name': undefined }))],
    ]
    for (const [name, token] of wrong) assert.equal(await codeFor(await keep(name, token)), 401, name)
  })

  test('are refused while the Secret has the label of a cleaner that ended them', async () => {
    const token = await keep('unused', storedToken(keyPem, claims('unused')))
    assert.equal(await codeFor(token), 201)
    const label = async (value: string | null) => {
      const body = { metadata: { labels: { 'kubernetes.io/legacy-token-invalid-since': value } } }
      const headers = { 'content-type': 'application/merge-patch+json' }
      assert.equal((await server.call('PATCH', `${namespace}/secrets/unused`, { body, headers })).code, 200)
    }
    await label('2026-11-28')
    assert.equal(await codeFor(token), 401)
    await label(null)
    assert.equal(await codeFor(token), 201)
  })

  test('end with their account', async () => {
    const body = { metadata: { name: 'gone' } }
    const account = (await server.call('POST', `${namespace}/serviceaccounts`, { body })).body
    const named = {
      'kubernetes.io/serviceaccount/service-account.name': 'gone',
      'kubernetes.io/serviceaccount/service-account.uid': account.metadata.uid,
    }
    const token = await keep('of-gone', storedToken(keyPem, claims('of-gone', named)))
    assert.equal(await codeFor(token), 201)
    await server.call('DELETE', `${namespace}/serviceaccounts/gone`)
    assert.equal(await codeFor(token), 401)
  })
})
