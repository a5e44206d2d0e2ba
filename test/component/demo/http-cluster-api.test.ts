import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { HttpClusterApi } from '../../../src/demo/http-cluster-api.ts'
import { describeSlice } from '../../../src/demo/manifests.ts'
import { createDialect } from '../../../src/model/dialect.ts'

interface Exchange {
  readonly asked: string
  readonly status: number
  readonly body: object
}

/** A server that must be asked exactly this, in this order. */
function scriptedServer(script: readonly Exchange[]): { server: Server; asked: string[] } {
  const asked: string[] = []
  const server = createServer((request: IncomingMessage, response) => {
    const { status, body } = script[asked.length] ?? { status: 500, body: {} }
    asked.push(`${request.method} ${request.url}`)
    request.resume()
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
  })
  return { server, asked }
}

const slice = describeSlice(createDialect('platform'), 'web', [])
const stored = { ...slice, metadata: { ...slice.metadata, resourceVersion: '7' } }
const notFound = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404 }
const collection = '/apis/discovery.platform.internal/v1/namespaces/default/endpointslices'

describe('the cluster as the demo reaches it', () => {
  const directory = mkdtempSync(join(tmpdir(), 'platnet-demo-'))
  const kubeconfig = join(directory, 'admin.kubeconfig')
  const controlSocket = join(directory, 'control.sock')
  const script: Exchange[] = [
    { asked: 'GET /api/v1/namespaces/default/services', status: 503, body: {} },
    { asked: 'GET /api/v1/namespaces/default/services', status: 200, body: {} },
    { asked: `PATCH ${collection}/web-demo`, status: 404, body: notFound },
    { asked: `POST ${collection}`, status: 201, body: stored },
    { asked: `PATCH ${collection}/web-demo`, status: 200, body: stored },
    {
      asked: `DELETE ${collection}/web-demo`,
      status: 200,
      body: { kind: 'Status', apiVersion: 'v1', status: 'Success' },
    },
  ]
  const api = scriptedServer(script)
  const applied = [504, 200].map((status) => {
    return { asked: 'GET /applied?resource=endpointslices&resourceVersion=7&timeoutMs=20000', status, body: {} }
  })
  const explained = {
    asked: 'GET /explain/flow?source=default%2Fweb-1&destination=default%2Fweb-2&port=8080',
    status: 200,
    body: { lines: ['Network policies deny TCP port 8080.'] },
  }
  const control = scriptedServer([...applied, explained])
  let cluster: HttpClusterApi

  before(async () => {
    await new Promise<void>((resolve) => api.server.listen(0, '127.0.0.1', resolve))
    const { port } = api.server.address() as AddressInfo
    const config = {
      'current-context': 'demo',
      contexts: [{ name: 'demo', context: { cluster: 'demo' } }],
      clusters: [{ name: 'demo', cluster: { server: `http://127.0.0.1:${port}` } }],
    }
    setTimeout(() => writeFileSync(kubeconfig, JSON.stringify(config)), 60)
    cluster = await HttpClusterApi.connect(kubeconfig, controlSocket)
  })
  after(() => {
    for (const { server } of [api, control]) {
      server.close()
      server.closeAllConnections()
    }
    rmSync(directory, { recursive: true })
  })

  it('waits for the kubeconfig and a server that is ready, creates what is not there, patches what is, deletes', async () => {
    assert.equal((await cluster.apply(slice)).metadata.resourceVersion, '7')
    assert.equal((await cluster.apply(slice)).metadata.resourceVersion, '7')
    await cluster.remove(slice)
    assert.deepEqual(
      api.asked,
      script.map(({ asked }) => asked),
    )
  })

  it('waits for the control socket, and asks it again when the change is not applied in time', async () => {
    setTimeout(() => control.server.listen(controlSocket), 60)
    await cluster.waitApplied('endpointslices', '7')
    assert.deepEqual(
      control.asked,
      applied.map(({ asked }) => asked),
    )
  })

  it('asks the agent what it does with a connection', async () => {
    assert.deepEqual(await cluster.explain('default/web-1', 'default/web-2', 8080), explained.body.lines)
    assert.equal(control.asked.at(-1), explained.asked)
  })
})
