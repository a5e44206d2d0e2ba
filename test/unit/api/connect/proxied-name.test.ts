import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseProxiedName } from '../../../../src/api/connect/proxy-backend.ts'

describe('the name of a proxied object', () => {
  test('may have a port after it and a scheme before it', () => {
    assert.deepEqual(parseProxiedName('web', 'pod'), { scheme: 'http', name: 'web', port: '' })
    assert.deepEqual(parseProxiedName('web:80', 'pod'), { scheme: 'http', name: 'web', port: '80' })
    assert.deepEqual(parseProxiedName('https:web:', 'pod'), { scheme: 'https', name: 'web', port: '' })
    assert.deepEqual(parseProxiedName(':web:http', 'service'), { scheme: 'http', name: 'web', port: 'http' })
  })

  test('is refused in any other form', () => {
    for (const text of ['', ':80', 'ftp:web:80', 'http::80', 'a:b:c:d'])
      assert.throws(() => parseProxiedName(text, 'pod'), {
        code: 'BadRequest',
        message: `invalid pod request ${JSON.stringify(text)}`,
      })
  })
})
