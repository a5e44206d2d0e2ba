import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { configMap, paths } from '../../helpers/manifests.ts'

describe('patches over HTTPS', () => {
  let server: TestServer
  let counter = 0
  before(async () => {
    server = await startTestServer()
  })
  after(() => server.stop())

  const patchNew = async (data: Record<string, string>, type: string, body: unknown) => {
    const name = `p-${counter++}`
    await server.call('POST', paths.configMaps, { body: configMap(name, data) })
    return server.call('PATCH', `${paths.configMaps}/${name}`, { body, headers: { 'content-type': type } })
  }
  const merge = 'application/merge-patch+json'
  const json = 'application/json-patch+json'

  test('a merge patch sets, replaces and removes', async () => {
    const reply = await patchNew({ a: '1', b: '2' }, merge, { data: { a: '3', b: null, c: '4' } })
    assert.deepEqual([reply.code, reply.body.data], [200, { a: '3', c: '4' }])
  })

  test('a JSON patch works through its operations', async () => {
    const reply = await patchNew({ a: '1', b: '2' }, json, [
      { op: 'test', path: '/data/a', value: '1' },
      { op: 'replace', path: '/data/a', value: '3' },
      { op: 'move', from: '/data/b', path: '/data/c' },
      { op: 'copy', from: '/data/c', path: '/data/d~1e' },
    ])
    assert.equal(reply.code, 422, 'a key with a slash is no config key')
    const good = await patchNew({ a: '1' }, json, [{ op: 'add', path: '/data/b', value: '2' }])
    assert.deepEqual(good.body.data, { a: '1', b: '2' })
  })

  test('what cannot be applied is a 422, what is no patch a 400, what is too long a 413', async () => {
    const table: readonly (readonly [body: unknown, code: number])[] = [
      [[{ op: 'test', path: '/data/a', value: 'x' }], 422],
      [[{ op: 'remove', path: '/data/none' }], 422],
      [[{ op: 'add', path: '/none/deep', value: 1 }], 422],
      [[{ op: 'leap', path: '/data' }], 400],
      [[{ op: 'add', path: 'data', value: 1 }], 400],
      [[{ op: 'add', path: '/data/b' }], 400],
      [{ op: 'add' }, 400],
      ['[{', 400],
      [Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/data/a', value: '1' })), 413],
    ]
    for (const [body, code] of table) {
      const reply = await patchNew({ a: '1' }, json, body)
      assert.equal(reply.code, code, JSON.stringify(body).slice(0, 80))
      assert.equal(reply.body.kind, 'Status')
    }
  })

  test('copies cannot be used to fill the memory', async () => {
    const bomb = Array.from({ length: 40 }, (_, index) => ({ op: 'copy', from: '/data', path: `/data/copy-${index}` }))
    assert.equal((await patchNew({ a: 'x'.repeat(1000) }, json, bomb)).code, 413)
  })

  test('a resourceVersion in a patch must be the stored one', async () => {
    const reply = await patchNew({}, merge, { metadata: { resourceVersion: '1' }, data: { a: '1' } })
    assert.deepEqual([reply.code, reply.body.reason], [409, 'Conflict'])
  })

  test('an unknown type is a 415 that lists what is taken', async () => {
    for (const type of ['application/json', 'text/plain']) {
      const reply = await patchNew({}, type, {})
      assert.equal(reply.code, 415)
      assert.equal(
        reply.body.message,
        'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml',
      )
    }
  })

  test('a prototype stays what it is', async () => {
    const merged = await patchNew({}, merge, '{"data":{"__proto__":"x"},"__proto__":{"polluted":"yes"}}')
    assert.equal(merged.code, 200)
    await patchNew({}, json, '[{"op":"add","path":"/__proto__/polluted","value":"yes"}]')
    await patchNew({}, json, '[{"op":"add","path":"/data/constructor/prototype/polluted","value":"yes"}]')
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined)
    assert.match(merged.text, /"data":\{"__proto__":"x"\}/)
  })
})
