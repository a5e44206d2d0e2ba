import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { kindCases } from '../../../helpers/kinds/kind-cases.ts'
import {
  expectedOf,
  type Request,
  requestOf,
  usualServiceRange,
  verdictOf,
  writesOf,
} from '../../../helpers/kinds/write-case.ts'

for (const { title, fixtures, cases, serviceRanges = usualServiceRange } of kindCases)
  describe(`${title} are refused as kube-apiserver 1.34 refuses them`, () => {
    let server: TestServer
    const send = ({ method, path, body, contentType }: Request) =>
      server.call(method, path, { body, headers: { 'content-type': contentType } })
    before(async () => {
      server = await startTestServer({ serviceCidr: serviceRanges })
      await server.call('POST', '/api/v1/namespaces', { body: { metadata: { name: 'default' } } })
      for (const request of fixtures.flatMap(writesOf)) {
        const made = await send(request)
        assert.ok(made.code < 300, made.text)
      }
    })
    after(() => server.stop())

    for (const each of cases)
      test(`${each.method} ${each.title}`, async () => {
        const reply = await send(requestOf(each))
        assert.deepEqual(verdictOf(reply), expectedOf(each), reply.text)
      })
  })
