import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { kindCases } from '../../../helpers/kinds/kind-cases.ts'
import { expectedOf, requestOf, verdictOf } from '../../../helpers/kinds/write-case.ts'

for (const { title, fixtures, cases } of kindCases)
  describe(`${title} are refused as kube-apiserver 1.34 refuses them`, () => {
    let server: TestServer
    before(async () => {
      server = await startTestServer()
      await server.call('POST', '/api/v1/namespaces', { body: { metadata: { name: 'default' } } })
      for (const { path, body } of fixtures) {
        const made = await server.call('POST', path, { body })
        assert.equal(made.code, 201, made.text)
      }
    })
    after(() => server.stop())

    for (const each of cases)
      test(`${each.method} ${each.title}`, async () => {
        const { method, path, body, contentType } = requestOf(each)
        const reply = await server.call(method, path, { body, headers: { 'content-type': contentType } })
        assert.deepEqual(verdictOf(reply), expectedOf(each), reply.text)
      })
  })
