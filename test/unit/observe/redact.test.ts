import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PlatnetError } from '../../../src/model/errors.ts'
import { redactText, toLogValue } from '../../../src/observe/redact.ts'

test('Ordinary words stay as they are.', () => {
  const plain = {
    secretName: 'web-tls',
    tokenCount: 3,
    message: 'invalid token: expected 3 parts',
    basic: 'Basic rules apply',
  }
  assert.deepEqual(toLogValue(plain), plain)
})

test('An expected error keeps code, object, remedy and cause; its stack is left out.', () => {
  const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  const error = new PlatnetError('API_UNREACHABLE', 'The API does not answer.', {
    object: 'https://a',
    remedy: 'start it',
    cause,
  })
  assert.deepEqual(toLogValue(error), {
    name: 'PlatnetError',
    message: 'The API does not answer.',
    code: 'API_UNREACHABLE',
    object: 'https://a',
    remedy: 'start it',
    cause: { name: 'Error', message: 'connect ECONNREFUSED', code: 'ECONNREFUSED' },
  })
})

test('A fault has its stack, and what a library hung on it is not written.', () => {
  const error = Object.assign(new TypeError('x is undefined'), { config: { headers: { Authorization: 'Bearer abc' } } })
  const written = toLogValue(error) as Record<string, unknown>
  assert.deepEqual(Object.keys(written), ['name', 'message', 'stack'])
})

test('Cycles, getters that throw, long lists and long texts are bounded.', () => {
  const cycle: Record<string, unknown> = {}
  cycle['self'] = cycle
  assert.match(JSON.stringify(toLogValue(cycle)), /\[deeper\]/)
  const trap = Object.defineProperty({}, 'x', { enumerable: true, get: () => assert.fail() })
  assert.equal(toLogValue(trap), '[unreadable]')
  assert.equal((toLogValue(Array(1000).fill(0)) as unknown[]).at(-1), '[800 more]')
  assert.ok(redactText('x'.repeat(100_000)).length < 9000)
})

test('A secret at the beginning of a line gives itself away also in the text of a JSON string.', () => {
  const texts = [`eyJ${'a'.repeat(20)}.b.c`, `Bearer ${'x'.repeat(20)}`, 'password=hunter2']
  for (const text of texts) assert.match(redactText(JSON.stringify(`line\n${text}`)), /^"line\\n.*\[redacted\]"$/)
})
