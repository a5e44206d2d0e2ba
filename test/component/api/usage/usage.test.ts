import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'

const group = '/apis/metrics.k8s.io/v1beta1'

describe('what nodes and pods use', () => {
  let server: TestServer
  const agents: Server[] = []
  const visitors = new Set<string>()
  before(async () => {
    server = await startTestServer({ readsUsage: true })
    // The second node says the same about the pods of the first.
    for (const name of ['one', 'two']) await makeNode(name, await startAgent(['web', 'api']))
    await makeNode('away', 1)
    for (const [name, node] of [
      ['web', 'one'],
      ['api', 'two'],
      ['free', ''],
    ] as const) {
      const spec = { containers: [{ name: 'c', image: 'i' }], ...(node === '' ? {} : { nodeName: node }) }
      const body = { metadata: { name, labels: { app: name } }, spec }
      assert.equal((await server.call('POST', '/api/v1/namespaces/default/pods', { body })).code, 201)
    }
  })
  after(async () => {
    for (const agent of agents) agent.close()
    await server.stop()
  })

  const startAgent = async (pods: readonly string[]): Promise<number> => {
    const { certPem, keyPem } = await server.authority.issue('server')
    const tls = { cert: certPem, key: keyPem, ca: server.authority.certPem, requestCert: true }
    const agent = createServer(tls, ({ socket }, response) => {
      visitors.add(String((socket as TLSSocket).getPeerCertificate().subject.CN))
      const nowMs = Date.now()
      const value = (name: string, labels: string, number: number) => `${name}${labels} ${number} ${nowMs}\n`
      const ofPods = pods.map((pod) => {
        const labels = `{container="c",namespace="default",pod="${pod}"}`
        return (
          value('container_cpu_usage_seconds_total', labels, nowMs / 4000) +
          value('container_memory_working_set_bytes', labels, 5 * 1024 * 1024)
        )
      })
      const node = value('node_cpu_usage_seconds_total', '', nowMs / 1000)
      response.end(`${node}${value('node_memory_working_set_bytes', '', 4096)}${ofPods.join('')}`)
    })
    agents.push(agent)
    await new Promise<void>((resolve) => {
      agent.listen(0, '127.0.0.1', resolve)
    })
    return (agent.address() as AddressInfo).port
  }
  const makeNode = async (name: string, port: number) => {
    const status = {
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
    }
    const made = await server.call('POST', '/api/v1/nodes', { body: { metadata: { name }, status } })
    assert.equal(made.code, 201, made.text)
  }
  const names = async (path: string): Promise<string[]> => {
    const { body, text } = await server.call('GET', `${group}${path}`)
    assert.ok(body.items, text)
    return body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)
  }

  test('is listed for nodes whose agent answers, and asked with the certificate of the server', async () => {
    const { body } = await server.call('GET', `${group}/nodes`)
    assert.equal(body.kind, 'NodeMetricsList')
    assert.deepEqual(
      body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name),
      ['one', 'two'],
    )
    const { timestamp, window, usage } = body.items[0]
    assert.ok(Date.now() - Date.parse(timestamp) < 10_000)
    assert.match(window, /^\d+(\.\d+)?s$/)
    assert.ok(Math.abs(Number.parseInt(usage.cpu, 10) / 1e9 - 1) < 0.02, usage.cpu)
    assert.equal(usage.memory, '4Ki')
    assert.deepEqual([...visitors], ['system:metrics-server'])
  })

  test('is listed for pods by the node they are bound to, with their labels, and selected by them', async () => {
    assert.deepEqual(await names('/pods'), ['api', 'web'])
    assert.deepEqual(await names('/namespaces/default/pods?labelSelector=app%3Dweb'), ['web'])
    assert.deepEqual(await names('/namespaces/other/pods'), [])
    const { body } = await server.call('GET', `${group}/namespaces/default/pods/web`)
    const [container] = body.containers
    assert.deepEqual([body.kind, body.metadata.labels, container.name], ['PodMetrics', { app: 'web' }, 'c'])
    assert.ok(Math.abs(Number.parseInt(container.usage.cpu, 10) / 1e9 - 0.25) < 0.02, container.usage.cpu)
    assert.equal(container.usage.memory, '5120Ki')
    const missing = await server.call('GET', `${group}/namespaces/default/pods/free`)
    assert.deepEqual([missing.code, missing.body.details.kind], [404, 'pods'])
  })

  test('has a Table, can only be read, and is no object of the store', async () => {
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'
    const { body } = await server.call('GET', `${group}/namespaces/default/pods/web`, { headers: { accept } })
    assert.deepEqual(
      body.columnDefinitions.map(({ name }: { name: string }) => name),
      ['Name', 'CPU', 'Memory', 'Window'],
    )
    assert.equal(body.rows[0].cells[2], '5Mi')
    const list = (await server.call('GET', group)).body.resources
    assert.deepEqual(
      list.map(({ name, kind, verbs }: Record<string, unknown>) => [name, kind, verbs]),
      [
        ['nodes', 'NodeMetrics', ['get', 'list']],
        ['pods', 'PodMetrics', ['get', 'list']],
      ],
    )
    for (const [method, path] of [
      ['DELETE', '/namespaces/default/pods/web'],
      ['PUT', '/namespaces/default/pods/web'],
      ['POST', '/namespaces/default/pods'],
      ['GET', '/pods?watch=true'],
      ['DELETE', '/namespaces/default/pods'],
    ] as const)
      assert.equal((await server.call(method, `${group}${path}`)).code, 405, `${method} ${path}`)
    assert.equal((await server.call('GET', '/openapi/v3/apis/metrics.k8s.io/v1beta1')).code, 200)
  })
})
