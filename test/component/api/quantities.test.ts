import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { quantityPlaces } from '../../helpers/quantity-places.ts'

const deployments = '/apis/apps/v1/namespaces/default/deployments'
const deployment = (limits: Record<string, string | number>) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'd' },
  spec: {
    selector: { matchLabels: { app: 'd' } },
    template: {
      metadata: { labels: { app: 'd' } },
      spec: { containers: [{ name: 'c', image: 'i', resources: { limits } }] },
    },
  },
})
// biome-ignore lint/suspicious/noExplicitAny: a test looks into any answer
const limitsOf = (body: any) => body.spec.template.spec.containers[0].resources.limits

describe('quantities', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
    await server.call('POST', '/api/v1/namespaces', { body: { metadata: { name: 'default' } } })
  })
  after(() => server.stop())

  const apply = (manager: string, limits: Record<string, string>) =>
    server.call('PATCH', `${deployments}/d?fieldManager=${manager}`, {
      body: deployment(limits),
      headers: { 'content-type': 'application/apply-patch+yaml' },
    })

  for (const [name, { path, body, read }] of Object.entries(quantityPlaces))
    test(`are canonical in a ${name}`, async () => {
      const { text, ...answer } = await server.call('POST', `${path}?dryRun=All`, { body: body('4000000m') })
      assert.equal(answer.code, 201, text)
      assert.match(JSON.stringify(read(answer.body)), /"4k"/, text)
    })

  test('are canonical after every kind of write', async () => {
    const made = await server.call('POST', deployments, { body: deployment({ cpu: 0.5, memory: '1.5Gi' }) })
    assert.deepEqual(limitsOf(made.body), { cpu: '500m', memory: '1536Mi' })
    const put = await server.call('PUT', `${deployments}/d`, { body: deployment({ cpu: '1000m' }) })
    assert.deepEqual(limitsOf(put.body), { cpu: '1' })
    const patch = (type: string, body: unknown) =>
      server.call('PATCH', `${deployments}/d`, { body, headers: { 'content-type': `application/${type}` } })
    const place = '/spec/template/spec/containers/0/resources/limits/cpu'
    const json = await patch('json-patch+json', [{ op: 'replace', path: place, value: '0.25' }])
    assert.deepEqual(limitsOf(json.body), { cpu: '250m' })
    const containers = [{ name: 'c', resources: { limits: { cpu: '2000m' } } }]
    const merged = await patch('strategic-merge-patch+json', { spec: { template: { spec: { containers } } } })
    assert.deepEqual(limitsOf(merged.body), { cpu: '2' })
    const same = await patch('json-patch+json', [{ op: 'test', path: place, value: '2' }])
    assert.equal(same.code, 200, same.text)
    assert.equal((await server.call('DELETE', `${deployments}/d`)).code, 200)
  })

  test('that are applied again in another form change nothing; another manager has a conflict, as in Kubernetes', async () => {
    const first = await apply('a', { cpu: '1000m', memory: '1.5Gi' })
    assert.deepEqual(limitsOf(first.body), { cpu: '1', memory: '1536Mi' })
    for (const again of [
      await apply('a', { cpu: '1000m', memory: '1.5Gi' }),
      await apply('a', { cpu: '1', memory: '1536Mi' }),
    ])
      assert.equal(again.body.metadata.resourceVersion, first.body.metadata.resourceVersion)
    assert.equal((await apply('b', { cpu: '1000m' })).code, 409)
    assert.equal((await apply('b', { cpu: '1' })).code, 200)
  })
})
