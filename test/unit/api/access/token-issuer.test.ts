import assert from 'node:assert/strict'
import { createPublicKey, sign, verify } from 'node:crypto'
import { test } from 'node:test'
import { createTokenIssuer, type TokenClaims } from '../../../../src/api/access/token-issuer.ts'
import { newSigningKey, newTokenIssuer, testIssuer } from '../../../helpers/token-issuer.ts'

const claims: TokenClaims = {
  identity: { namespace: 'shop', serviceaccount: { name: 'web', uid: 'u-1' }, pod: { name: 'web-0', uid: 'u-2' } },
  audiences: ['a', 'b'],
  issuedAt: 1000,
  expiresAt: 4600,
  id: 'one',
}

const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url')
const decode = (part = '') => JSON.parse(Buffer.from(part, 'base64url').toString())

test('a token says what it was signed for, in registered claims and in that of the dialect', () => {
  const issuer = newTokenIssuer()
  const token = issuer.sign(claims)
  assert.deepEqual(issuer.read(token), claims)
  assert.deepEqual(decode(token.split('.')[1]), {
    iss: testIssuer,
    sub: 'system:serviceaccount:shop:web',
    aud: ['a', 'b'],
    iat: 1000,
    nbf: 1000,
    exp: 4600,
    jti: 'one',
    'kubernetes.io': claims.identity,
  })
})

test('anybody verifies a token with the published key of its kid', () => {
  const issuer = newTokenIssuer()
  const [header = '', payload = '', signature = ''] = issuer.sign(claims).split('.')
  const [jwk] = issuer.keys()['keys'] as Record<string, string>[]
  assert.deepEqual(decode(header), { alg: 'ES256', kid: jwk?.['kid'] })
  const key = createPublicKey({ key: jwk ?? {}, format: 'jwk' })
  const content = Buffer.from(`${header}.${payload}`)
  const bytes = Buffer.from(signature, 'base64url')
  assert.ok(verify('sha256', content, { key, dsaEncoding: 'ieee-p1363' }, bytes))
  assert.deepEqual(Object.keys(jwk ?? {}).toSorted(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
})

test('a token that another key, no key or an issuer of another name signed is invalid', () => {
  const keyPem = newSigningKey()
  const make = (name: string, identityClaim = 'kubernetes.io') => createTokenIssuer({ name, keyPem, identityClaim })
  const issuer = make(testIssuer)
  const [header, payload, signature] = issuer.sign(claims).split('.')
  const forged = encode({ ...decode(payload), sub: 'system:serviceaccount:kube-system:admin' })
  const none = encode({ alg: 'none' })
  const odd = `${header}.${encode({ iss: testIssuer })}`
  const oddSignature = sign('sha256', Buffer.from(odd), { key: keyPem, dsaEncoding: 'ieee-p1363' })
  const wrong = [
    newTokenIssuer().sign(claims),
    make('https://other.example').sign(claims),
    make(testIssuer, 'platform.internal').sign(claims),
    `${header}.${forged}.${signature}`,
    `${none}.${payload}.`,
    `${none}.${payload}.${signature}`,
    `${header}.${payload}`,
    `${header}.${payload}.${signature}.x`,
    `${odd}.${oddSignature.toString('base64url')}`,
    '',
    '..',
  ]
  for (const token of wrong) assert.equal(issuer.read(token), undefined, token)
})
