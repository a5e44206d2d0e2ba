import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDialect } from '../../../../src/model/dialect.ts'
import { startTestServer } from '../../../helpers/api-server.ts'

const { annotations } = createDialect('kubernetes')
const mirror = { [annotations.mirrorPod]: 'static' }

test('no Pod becomes a mirror pod or ceases to be one, and none is without its node', async () => {
  await using server = await startTestServer()
  const path = '/api/v1/namespaces/default/pods'
  const spec = { containers: [{ name: 'c', image: 'i' }], nodeName: 'n' }
  const create = (metadata: object, changes: object = {}) =>
    server.call('POST', path, { body: { metadata, spec: { ...spec, ...changes } } })
  const annotate = async (name: string, changed: object) => {
    const headers = { 'content-type': 'application/merge-patch+json' }
    return (await server.call('PATCH', `${path}/${name}`, { body: { metadata: { annotations: changed } }, headers }))
      .code
  }
  assert.equal((await create({ name: 'loose', annotations: mirror }, { nodeName: '' })).code, 422)
  assert.equal((await create({ name: 'account', annotations: mirror }, { serviceAccountName: 'x' })).code, 403)
  assert.equal((await create({ name: 'mirror', annotations: mirror })).code, 201)
  assert.equal((await create({ name: 'plain' })).code, 201)
  assert.equal(await annotate('mirror', { [annotations.mirrorPod]: null }), 422)
  assert.equal(await annotate('mirror', { [annotations.mirrorPod]: 'other' }), 422)
  assert.equal(await annotate('plain', mirror), 422)
  assert.equal(await annotate('mirror', { other: 'x' }), 200)
})
