import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { toLogValue } from '../../../src/observe/redact.ts'

const secret = 's3cr3t-5f2b9d71c0'
const secretKey = fc.constantFrom(
  'token',
  'accessToken',
  'Authorization',
  'password',
  'client-key-data',
  'clientKey',
  'private_key',
  'API_KEY',
  'credentials',
  'Set-Cookie',
)

test('A secret under a secret name is never written, at whatever depth and in whatever container.', () => {
  const leaf = fc.tuple(secretKey, fc.constantFrom(secret, [secret], { inner: secret })).map(([key, value]) => ({
    [key]: value,
  }))
  const nested = fc.letrec<{ node: unknown }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      leaf,
      tie('node').map((child) => [1, child]),
      tie('node').map((child) => ({ spec: child })),
      tie('node').map((child) => new Map([['spec', child]])),
      tie('node').map((child) => new Error('failed', { cause: child })),
    ),
  })).node
  fc.assert(
    fc.property(nested, (value) => {
      const text = JSON.stringify(toLogValue(value))
      assert.ok(!text.includes(secret), text)
      assert.ok(text.includes('[redacted]') || text.includes('[deeper]'), text)
    }),
  )
})

test('Secrets inside texts are never written, whatever surrounds them.', () => {
  const carrier = fc.constantFrom(
    `Authorization: Bearer ${secret}`,
    `https://admin:${secret}@db.example/path`,
    `?access_token=${secret}&x=1`,
    `{"password": "${secret}"}`,
    `-----BEGIN EC PRIVATE KEY-----\n${secret}\n-----END EC PRIVATE KEY-----`,
  )
  fc.assert(
    fc.property(fc.string(), carrier, fc.string(), (before, text, after) => {
      assert.ok(!JSON.stringify(toLogValue(`${before} ${text} ${after}`)).includes(secret))
    }),
  )
})

test('Any value becomes plain JSON data without an exception.', () => {
  fc.assert(
    fc.property(fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true }), (value) => {
      JSON.stringify({ value: toLogValue(value) })
    }),
  )
})
