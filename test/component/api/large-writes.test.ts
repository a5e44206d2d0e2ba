import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { paths } from '../../helpers/manifests.ts'
import { SendingThread, type SentRequest } from '../../helpers/sending-thread.ts'

/** In one piece, the longest pause is nearly all of a write. */
const mostOfIt = 0.5

const widePath = '/apis/example.com/v1/namespaces/default/wides'

function wideDefinition() {
  const item = {
    type: 'object',
    required: ['name'],
    properties: {
      name: { type: 'string', maxLength: 60 },
      mode: { type: 'string', enum: ['a', 'b'], default: 'a' },
      tags: { type: 'array', items: { type: 'string', pattern: '^[a-z0-9]+$' } },
    },
  }
  const listType = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] }
  const spec = { type: 'object', properties: { items: { type: 'array', ...listType, items: item } } }
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } }
  const names = { plural: 'wides', singular: 'wide', kind: 'Wide' }
  const version = { name: 'v1', served: true, storage: true, schema }
  return {
    metadata: { name: 'wides.example.com' },
    spec: { group: 'example.com', scope: 'Namespaced', names, versions: [version] },
  }
}

function withKeys(name: string, value: string) {
  const data = Array.from({ length: 12_000 }, (_, index) => [`key-${index}`, `${value}-${index}`])
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: Object.fromEntries(data) }
}

function withItems(name: string, tag: string) {
  const items = Array.from({ length: 5_000 }, (_, index) => ({ name: `item-${index}`, mode: 'b', tags: ['one', tag] }))
  return { apiVersion: 'example.com/v1', kind: 'Wide', metadata: { name }, spec: { items } }
}

/** One object created, merged and applied, another one applied anew. */
function writesOf(path: string, make: (name: string, value: string) => object): readonly SentRequest[] {
  const write = (method: string, at: string, type: string, body: object): SentRequest => ({
    method,
    path: `${path}${at}`,
    contentType: `application/${type}`,
    body: JSON.stringify(body),
  })
  return [
    write('POST', '', 'json', make('large', 'a')),
    write('PATCH', '/large', 'merge-patch+json', make('large', 'b')),
    write('PATCH', '/large?fieldManager=m&force=true', 'apply-patch+yaml', make('large', 'c')),
    write('PATCH', '/other?fieldManager=m', 'apply-patch+yaml', make('other', 'd')),
  ]
}

describe('a large write leaves the main loop to others between its stages', () => {
  let server: TestServer
  let sender: SendingThread
  before(async () => {
    server = await startTestServer()
    sender = new SendingThread(server)
    const reply = await server.call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      body: wideDefinition(),
    })
    assert.equal(reply.code, 201, reply.text)
    // What a thread and a connection take to start is no write.
    const body = JSON.stringify({ metadata: { name: 'first' } })
    const first = { method: 'POST', path: paths.configMaps, contentType: 'application/json', body }
    assert.equal(await sender.send(first), 201)
  })
  after(async () => {
    await sender.stop()
    await server.stop()
  })

  const measure = async (sent: SentRequest) => {
    const delays = monitorEventLoopDelay({ resolution: 1 })
    delays.enable()
    await sleep(5)
    const startedMs = performance.now()
    const code = await sender.send(sent)
    const tookMs = performance.now() - startedMs
    await sleep(5)
    delays.disable()
    assert.ok(code < 300, `${sent.method} ${sent.path}: ${code}`)
    return { tookMs, pauseMs: delays.max / 1e6 }
  }

  for (const [title, path, make] of [
    ['a ConfigMap of 12,000 keys', paths.configMaps, withKeys],
    ['a custom resource with a list of 5,000 items', widePath, withItems],
  ] as const) {
    test(`${title}: the longest pauses are less than half of the time that the writes take`, async () => {
      const writes = []
      for (const sent of writesOf(path, make)) writes.push(await measure(sent))
      const tookMs = writes.reduce((sum, each) => sum + each.tookMs, 0)
      const pauseMs = writes.reduce((sum, each) => sum + each.pauseMs, 0)
      assert.ok(pauseMs < tookMs * mostOfIt, `${pauseMs.toFixed(0)} ms of ${tookMs.toFixed(0)} ms in one piece each`)
    })
  }
})
