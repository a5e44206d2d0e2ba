import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { podOf } from '../../../helpers/pod-case.ts'
import { podCases } from '../../../helpers/pod-cases.ts'
import { workloadCases, workloadOf } from '../../../helpers/workload-cases.ts'

/** The fields that an answer's causes name. */
function fieldsOf(body: { details?: { causes?: readonly { field: string }[] } }): readonly string[] {
  return (body.details?.causes ?? []).map(({ field }) => field)
}

describe('what kube-apiserver 1.34 refuses is refused, with the fields it names', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
    await server.call('POST', '/api/v1/namespaces', { body: { metadata: { name: 'default' } } })
  })
  after(() => server.stop())

  const assertErrors = async (path: string, body: object, errors: readonly string[]) => {
    const answer = await server.call('POST', `${path}?dryRun=All`, { body })
    assert.deepEqual(fieldsOf(answer.body), errors, answer.text)
    assert.equal(answer.code, errors.length === 0 ? 201 : 422)
  }

  for (const each of podCases)
    test(`a Pod: ${each.title}`, () => assertErrors('/api/v1/namespaces/default/pods', podOf(each), each.errors))

  for (const each of workloadCases)
    test(`${each.plural}: ${each.title}`, () =>
      assertErrors(`/apis/apps/v1/namespaces/default/${each.plural}`, workloadOf(each), each.errors))
})
