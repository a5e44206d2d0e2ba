import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createIngressStatusController } from '../../../../src/controllers/ingress/ingress-status-controller.ts'
import { createDialect } from '../../../../src/model/dialect.ts'
import { startTestServer } from '../../../helpers/api-server.ts'
import { runControllers } from '../../../helpers/controller-lab.ts'
import { untilAsync } from '../../../helpers/until.ts'

const { annotations, domain, groups } = createDialect('kubernetes')
const group = `/apis/${groups.networking}/v1`
const ingresses = `${group}/namespaces/default/ingresses`
const headers = { 'content-type': 'application/merge-patch+json' }

test('The addresses of Ingresses of our class are removed when no Ready node serves them, and no others', async () => {
  await using server = await startTestServer()
  const send = async (method: string, path: string, body: object) => {
    const { code, text } = await server.call(method, path, { body, ...(method === 'PATCH' && { headers }) })
    assert.ok(code === 200 || code === 201, text)
  }
  const setReady = (name: string, status: string) =>
    send('PATCH', `/api/v1/nodes/${name}/status`, { status: { conditions: [{ type: 'Ready', status }] } })
  const addresses = async (name: string) =>
    (await server.call('GET', `${ingresses}/${name}`)).body.status?.loadBalancer?.ingress ?? []
  await send('POST', `${group}/ingressclasses`, {
    metadata: { name: 'ours' },
    spec: { controller: `${domain}/ingress` },
  })
  await send('POST', `${group}/ingressclasses`, {
    metadata: { name: 'theirs' },
    spec: { controller: 'example.com/other' },
  })
  for (const name of ['one', 'two']) {
    const metadata = { name, annotations: { [annotations.ingressAddresses]: '203.0.113.7' } }
    await send('POST', '/api/v1/nodes', { metadata })
    await setReady(name, 'True')
  }
  await send('POST', '/api/v1/nodes', { metadata: { name: 'without' } })
  await setReady('without', 'True')
  for (const name of ['ours', 'theirs']) {
    const rules = [{ host: `${name}.example.com` }]
    await send('POST', ingresses, { metadata: { name }, spec: { ingressClassName: name, rules } })
    const status = { loadBalancer: { ingress: [{ ip: '203.0.113.7' }] } }
    await send('PATCH', `${ingresses}/${name}/status`, { status })
  }
  await using _running = await runControllers(server, (kit) => [createIngressStatusController(kit)])
  await setReady('one', 'Unknown')
  await new Promise((resolve) => setTimeout(resolve, 100))
  assert.equal((await addresses('ours')).length, 1, 'a node still serves')
  assert.equal((await server.call('DELETE', '/api/v1/nodes/two')).code, 200)
  await untilAsync('the address is removed', async () => (await addresses('ours')).length === 0)
  assert.equal((await addresses('theirs')).length, 1)
})
