import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { detectDialect } from '../../../src/client/index.ts'
import { createDialect } from '../../../src/model/dialect.ts'
import { clientOf, sendJson, startServer } from '../../helpers/scripted-server.ts'

async function detect(groups: unknown) {
  await using server = await startServer((_, response) => sendJson(response, { kind: 'APIGroupList', groups }))
  const dialect = await detectDialect(clientOf(server))
  assert.deepEqual(server.requests, ['/apis'])
  return dialect
}

const named = (...names: string[]) => names.map((name) => ({ name }))

describe('the dialect', () => {
  it('is kubernetes where its discovery group is, whatever else is installed', async () => {
    const groups = named('apps', 'discovery.example.org', 'discovery.k8s.io', 'networking.k8s.io')
    assert.deepEqual(await detect(groups), createDialect('kubernetes'))
  })

  it('is platform with the domain of the discovery group', async () => {
    const groups = named('networking.corp.example', 'discovery.corp.example')
    assert.deepEqual(await detect(groups), createDialect('platform', 'corp.example'))
  })

  for (const [title, groups] of [
    ['no discovery group', named('apps')],
    ['two of them', named('discovery.a.example', 'discovery.b.example')],
    ['a domain that is none', named('discovery.a b')],
    ['no group at all', []],
  ] as const) {
    it(`is an error that lists the groups when there is ${title}`, async () => {
      await assert.rejects(detect(groups), /dialect is not clear: expected one discovery group, found the groups /)
    })
  }

  it('is an error when the answer is no list of groups', async () => {
    await assert.rejects(detect('none'), /expected an APIGroupList/)
  })
})
