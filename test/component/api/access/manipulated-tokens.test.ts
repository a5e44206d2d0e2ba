import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { newTokenIssuer } from '../../../helpers/token-issuer.ts'

const accounts = '/api/v1/namespaces/default/serviceaccounts'
const whoami = '/apis/authentication.k8s.io/v1/selfsubjectreviews'

type Part = Readonly<Record<string, unknown>>

const encode = (part: Part) => Buffer.from(JSON.stringify(part)).toString('base64url')
const decode = (part: string): Part => JSON.parse(Buffer.from(part, 'base64url').toString())

describe('a token that was manipulated', () => {
  let server: TestServer
  let token = ''
  let header: Part = {}
  let payload: Part = {}
  let signature = ''

  before(async () => {
    server = await startTestServer()
    for (const name of ['web', 'admin']) await server.call('POST', accounts, { body: { metadata: { name } } })
    token = (await server.call('POST', `${accounts}/web/token`, { body: {} })).body.status.token
    const [first = '', second = '', third = ''] = token.split('.')
    ;[header, payload, signature] = [decode(first), decode(second), third]
  })
  after(() => server.stop())

  const codeOf = async (authorization: string) =>
    (await server.call('POST', whoami, { token: null, headers: { authorization }, body: {} })).code

  /** Makes a token with these claims, signed by `sign`. */
  const forged = (changes: Part, ofHeader: Part = header, sign = (_: string) => signature) => {
    const content = `${encode(ofHeader)}.${encode({ ...payload, ...changes })}`
    return `${content}.${sign(content)}`
  }
  const asAdmin = { sub: 'system:serviceaccount:default:admin' }

  test('is none, and the one that it was made from still is one', async () => {
    const { text: jwks } = await server.call('GET', '/openid/v1/jwks')
    const [jwk] = JSON.parse(jwks).keys
    const hmac = (key: string) => (content: string) => createHmac('sha256', key).update(content).digest('base64url')
    const identity = payload['kubernetes.io'] as { readonly serviceaccount: Part }
    const stranger = newTokenIssuer()
    const claims = {
      identity: { namespace: 'default', serviceaccount: identity.serviceaccount as { name: string; uid: string } },
      audiences: payload['aud'] as readonly string[],
      issuedAt: Number(payload['iat']),
      expiresAt: Number(payload['exp']),
      id: 'x',
    }
    const table: readonly (readonly [string, string])[] = [
      ['without a signature', forged({}, { alg: 'none' }, () => '')],
      ['without a signature, by the header of before', forged({}, header, () => '')],
      ['without the third part', token.slice(0, token.lastIndexOf('.'))],
      ['with a fourth part', `${token}.x`],
      ['of another algorithm', forged({}, { ...header, alg: 'NONE' })],
      ['signed with the public key as a secret', forged({}, { ...header, alg: 'HS256' }, hmac(JSON.stringify(jwk)))],
      ['signed with a coordinate as a secret', forged({}, { ...header, alg: 'HS256' }, hmac(jwk.x))],
      ['with the key in its header', forged({}, { ...header, jwk }, hmac(jwk.x))],
      ['with the place of a key in its header', forged({}, { ...header, jku: 'https://example.com' })],
      ['of another account', forged({ ...asAdmin })],
      ['of another account by its claim', forged({ 'kubernetes.io': { ...identity, namespace: 'kube-system' } })],
      ['that lasts longer', forged({ exp: Number(payload['exp']) + 3600 })],
      ['for all audiences', forged({ aud: ['*'] })],
      [
        'with its order of claims turned',
        `${encode(header)}.${encode(Object.fromEntries(Object.entries(payload).reverse()))}.${signature}`,
      ],
      ['of another issuer of the same name', stranger.sign(claims)],
      ['with a shorter signature', token.slice(0, -4)],
      ['with a signature of zeros', forged({}, header, () => Buffer.alloc(64).toString('base64url'))],
      ['with a signature as DER', forged({}, header, () => derSignature())],
      ['with a bit turned', `${token.slice(0, -10)}${token.at(-10) === 'A' ? 'B' : 'A'}${token.slice(-9)}`],
      ['of three empty parts', '..'],
      ['that is no JSON', `${encode(header)}.bm9uZQ.${signature}`],
      ['of 20 kB', 'x'.repeat(20_000)],
    ]
    for (const [what, each] of table) assert.equal(await codeOf(`Bearer ${each}`), 401, what)
    for (const authorization of [
      `Basic ${token}`,
      `${token}`,
      `Bearer  `,
      `Bearer ${token} ${token}`,
      `Token ${token}`,
    ])
      assert.equal(await codeOf(authorization), 401, authorization.slice(0, 8))
    assert.equal(await codeOf(`Bearer ${token}`), 201)
    assert.equal(await codeOf(`bearer   ${token}`), 201)
  })
})

function derSignature(): string {
  const integer = Buffer.concat([Buffer.from([2, 32]), Buffer.alloc(32, 1)])
  return Buffer.concat([Buffer.from([48, 68]), integer, integer]).toString('base64url')
}
