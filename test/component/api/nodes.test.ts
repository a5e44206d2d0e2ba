import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { validatePodCidrs } from '../../../src/api/resources/node-pod-cidrs.ts'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'

let server: TestServer
before(async () => {
  server = await startTestServer()
})
after(async () => {
  await server[Symbol.asyncDispose]()
})

let count = 0
async function create(spec: object) {
  count += 1
  return server.call('POST', '/api/v1/nodes', { body: { metadata: { name: `n${count}` }, spec } })
}

const refused: readonly { spec: object; why: RegExp }[] = [
  {
    spec: { podCIDR: '0.0.0.0/0' },
    why: /spec\.podCIDRs\[0\]: Invalid value: "0\.0\.0\.0\/0": may not hold addresses/,
  },
  { spec: { podCIDR: '::/0' }, why: /may not hold addresses/ },
  { spec: { podCIDR: '127.0.0.0/24' }, why: /that are loopback/ },
  { spec: { podCIDR: '169.254.169.0/24' }, why: /that are link-local/ },
  { spec: { podCIDR: '169.254.0.0/15' }, why: /that are link-local/ },
  { spec: { podCIDR: '239.0.0.0/24' }, why: /that are multicast/ },
  { spec: { podCIDR: 'fe80::/64' }, why: /that are link-local/ },
  { spec: { podCIDR: '10.244.1.1/24' }, why: /must be in canonical form \("10\.244\.1\.0\/24"\)/ },
  { spec: { podCIDR: 'fd00:0::/64' }, why: /must be in canonical form \("fd00::\/64"\)/ },
  { spec: { podCIDR: '::ffff:10.244.1.0/120' }, why: /must be in canonical form \("10\.244\.1\.0\/24"\)/ },
  { spec: { podCIDR: '010.244.1.0/24' }, why: /must be a valid CIDR value/ },
  { spec: { podCIDR: '10.244.1.0' }, why: /must be a valid CIDR value/ },
  { spec: { podCIDRs: ['10.244.1.0/24', '10.244.2.0/24'] }, why: /no more than one CIDR for each IP family/ },
  { spec: { podCIDRs: ['10.1.0.0/24', 'fd00::/64', 'fd01::/64'] }, why: /no more than one CIDR for each IP family/ },
  { spec: { podCIDR: '10.1.0.0/24', podCIDRs: ['10.2.0.0/24'] }, why: /spec\.podCIDR: .*must match `podCIDRs\[0\]`/ },
]

describe('the pod network of a Node', () => {
  for (const { spec, why } of refused) {
    test(`${JSON.stringify(spec)} is refused, at creation and as a change`, async () => {
      const created = await create(spec)
      assert.equal(created.code, 422)
      assert.match(created.body.message, why)
      const { body } = await create({})
      const changed = await server.call('PATCH', `/api/v1/nodes/${body.metadata.name}`, {
        body: { spec },
        headers: { 'content-type': 'application/merge-patch+json' },
      })
      assert.equal(changed.code, 422)
      assert.match(changed.body.message, why)
    })
  }

  test('one of the two fields brings the other', async () => {
    const single = await create({ podCIDR: '10.244.1.0/24' })
    assert.deepEqual(single.body.spec, { podCIDR: '10.244.1.0/24', podCIDRs: ['10.244.1.0/24'] })
    const list = await create({ podCIDRs: ['fd00::/64', '10.244.1.0/24'] })
    assert.deepEqual(list.body.spec, { podCIDR: 'fd00::/64', podCIDRs: ['fd00::/64', '10.244.1.0/24'] })
  })

  test('it stays once it is set, and a change of something else passes', async () => {
    const { body: node } = await create({ podCIDR: '10.244.1.0/24' })
    const patch = (body: object) =>
      server.call('PATCH', `/api/v1/nodes/${node.metadata.name}`, {
        body,
        headers: { 'content-type': 'application/merge-patch+json' },
      })
    const forbidden = /spec\.podCIDRs: Forbidden: node updates may not change podCIDR/
    for (const spec of [
      { podCIDR: '10.244.2.0/24', podCIDRs: ['10.244.2.0/24'] },
      { podCIDR: '10.244.2.0/24' },
      { podCIDR: null, podCIDRs: null },
      { podCIDRs: ['10.244.1.0/24', 'fd00::/64'] },
    ]) {
      const { code, body } = await patch({ spec })
      assert.equal(code, 422)
      assert.match(body.message, forbidden)
    }
    const { code, body } = await patch({ spec: { unschedulable: true } })
    assert.deepEqual([code, body.spec.podCIDR], [200, '10.244.1.0/24'])
  })

  test('a network that was stored before this check keeps no other change out', () => {
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' }, spec: { podCIDR: '0.0.0.0/0' } }
    assert.deepEqual(validatePodCidrs({ ...node, status: {} }, node), [])
    const filled = { ...node, spec: { podCIDR: '0.0.0.0/0', podCIDRs: ['0.0.0.0/0'] } }
    assert.deepEqual(validatePodCidrs(filled, node), [])
  })
})

describe('the status of a Node in a table', () => {
  const cases: readonly [string, object[]][] = [
    ['Ready', [{ type: 'Ready', status: 'True' }]],
    ['NotReady', [{ type: 'Ready', status: 'False' }]],
    // A node controller writes Unknown when the node is silent.
    ['NotReady', [{ type: 'Ready', status: 'Unknown' }]],
    ['Unknown', []],
  ]
  for (const [shown, conditions] of cases)
    test(`${shown} with the conditions ${JSON.stringify(conditions)}`, async () => {
      const { body } = await create({})
      const path = `/api/v1/nodes/${body.metadata.name}`
      await server.call('PUT', `${path}/status`, { body: { ...body, status: { conditions } } })
      const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'
      const table = (await server.call('GET', path, { headers: { accept } })).body
      const column = table.columnDefinitions.findIndex(({ name }: { name: string }) => name === 'Status')
      assert.equal(table.rows[0].cells[column], shown)
    })
})
