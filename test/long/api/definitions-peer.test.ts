import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer } from '../../helpers/api-server.ts'
import { lackOfPeer, type Peer, startPeer } from '../../helpers/kubernetes-peer.ts'
import { type DefinitionRow, definitionRows } from './definition-rows.ts'

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

/** Every row has a group of its own, so that none waits for the end of another. */
function toDefinition({ spec }: DefinitionRow, index: number): { readonly metadata: { readonly name: string } } {
  const group = `row${index}.example.com`
  const names = { plural: 'widgets', kind: 'Widget', ...(spec['names'] as object | undefined) }
  const versions = [
    { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object', properties: {} } } },
  ]
  const settled = { group, scope: 'Namespaced', versions, ...spec, names }
  const metadata = { name: `widgets.${settled.group}` }
  return { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata, spec: settled } as never
}

/** Accepted, or the fields and texts of all errors. */
async function outcome(call: Peer['call'], definition: unknown): Promise<string> {
  const { code, body } = await call('POST', definitions, definition)
  if (code === 201) return 'accepted'
  const causes = (body.details?.causes ?? []) as { field: string; message: string }[]
  return [code, ...causes.map(({ field, message }) => `${field}: ${message}`).sort()].join('\n')
}

test('definitions are accepted and refused with the errors of kube-apiserver', async (t) => {
  const lack = lackOfPeer()
  if (lack !== undefined) return t.skip(lack)
  await using peer = await startPeer()
  await using server = await startTestServer({ dialect: 'kubernetes' })
  const ours: Peer['call'] = (method, path, body) => server.call(method, path, { body })
  for (const [index, row] of definitionRows.entries()) {
    await t.test(row.title, async () => {
      const definition = toDefinition(row, index)
      const expected = await outcome(peer.call, definition)
      assert.equal(await outcome(ours, definition), expected)
      await peer.call('DELETE', `${definitions}/${definition.metadata.name}`)
    })
  }
})
