import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ApiError, listPages } from '../../../src/client/index.ts'
import { threadCpuMs } from '../../helpers/growth.ts'
import { longestTurnMs } from '../../helpers/longest-turn.ts'
import { clientOf, sendJson, startServer, statusBody } from '../../helpers/scripted-server.ts'

const collection = { resource: { group: '', version: 'v1', resource: 'services' } }

function page(names: string[], metadata: object) {
  return { kind: 'ServiceList', apiVersion: 'v1', metadata, items: names.map((name) => ({ metadata: { name } })) }
}

const expired = statusBody(410, 'Expired', 'the continue parameter is too old')

describe('a list', () => {
  it('follows the pages and has the resourceVersion of the last', async () => {
    await using server = await startServer((request, response) => {
      const first = request.url?.includes('continue') !== true
      sendJson(
        response,
        first ? page(['a', 'b'], { resourceVersion: '7', continue: 'x&y' }) : page(['c'], { resourceVersion: '7' }),
      )
    })
    const list = await listPages(clientOf(server), collection)
    const items = ['a', 'b', 'c'].map((name) => ({ metadata: { name } }))
    assert.deepEqual(list, { items, leftOut: [], resourceVersion: '7' })
    assert.deepEqual(server.requests, ['/api/v1/services?limit=500', '/api/v1/services?limit=500&continue=x%26y'])
  })

  it('asks for the next page before it has reduced the items of one, and keeps their order', async () => {
    const namesOf = (letter: string) => Array.from({ length: 40 }, (_, index) => `${letter}${index}`)
    await using server = await startServer((request, response) => {
      const isFirst = request.url?.includes('continue') !== true
      const metadata = { resourceVersion: '7', ...(isFirst && { continue: 'x' }) }
      sendJson(response, page(namesOf(isFirst ? 'a' : 'b'), metadata))
    })
    const requestsAt: number[] = []
    // Each item fills a slice, so that the event loop turns after it.
    const reduce = (json: unknown) => {
      for (const startedMs = performance.now(); performance.now() - startedMs < 4; );
      requestsAt.push(server.requests.length)
      return (json as { metadata: { name: string } }).metadata.name
    }
    const list = await listPages(clientOf(server), collection, { reduce })
    assert.deepEqual(list.items, [...namesOf('a'), ...namesOf('b')])
    assert.equal(requestsAt[39], 2)
  })

  it('without managed fields asks the server to leave them out, and takes them where it does not', async () => {
    const items = [{ metadata: { name: 'a', managedFields: [] } }]
    await using server = await startServer((_, response) =>
      sendJson(response, { metadata: { resourceVersion: '7' }, items }),
    )
    const list = await listPages(clientOf(server), collection, { content: 'unmanaged' })
    assert.deepEqual(list.items, items)
    assert.deepEqual(server.requests, ['/api/v1/services?limit=500&omitManagedFields=true'])
  })

  it('starts again when its pages expire, at last without pages', async () => {
    await using server = await startServer((request, response) => {
      if (request.url?.includes('continue') === true) sendJson(response, expired, 410)
      else if (request.url?.includes('limit') === true)
        sendJson(response, page(['old'], { resourceVersion: '7', continue: 'x' }))
      else sendJson(response, page(['a', 'b'], { resourceVersion: '9' }))
    })
    const list = await listPages(clientOf(server), collection)
    assert.deepEqual(list.items, [{ metadata: { name: 'a' } }, { metadata: { name: 'b' } }])
    assert.equal(server.requests.length, 5)
  })

  it('accepts null for no items', async () => {
    await using server = await startServer((_, response) =>
      sendJson(response, { metadata: { resourceVersion: '1' }, items: null }),
    )
    assert.deepEqual(await listPages(clientOf(server), collection), { items: [], leftOut: [], resourceVersion: '1' })
  })

  const bad: readonly [title: string, body: string, expected: RegExp][] = [
    ['that is cut off', '{"metadata":{"resourceVersion":"1"},"items":[{}', /ends before its last bracket/],
    ['that is no JSON', 'sorry', /not JSON near "sorry"/],
    ['with a broken item', '{"metadata":{"resourceVersion":"1"},"items":[{x}]}', /not JSON near "\{x\}"/],
    ['without a resourceVersion', '{"items":[]}', /metadata/],
    [
      'with a resourceVersion that is no number',
      '{"metadata":{"resourceVersion":"01"},"items":[]}',
      /decimal resourceVersion/,
    ],
  ]
  for (const [title, body, expected] of bad) {
    it(`${title} is a bad response that says so`, async () => {
      await using server = await startServer((_, response) => void response.end(body))
      await assert.rejects(listPages(clientOf(server), collection), (error: unknown) => {
        assert.ok(error instanceof ApiError)
        assert.equal(error.code, 'bad-response')
        return expected.test(error.message)
      })
    })
  }

  it('is a time-out when the server falls silent within it', async () => {
    await using server = await startServer((_, response) => void response.writeHead(200).write('{"items":['))
    const work = listPages(clientOf(server), collection, { idleTimeoutMs: 50 })
    await assert.rejects(work, (error: unknown) => error instanceof ApiError && error.code === 'timeout')
  })

  it('of 30,000 Services in one body does not hold up the event loop', async () => {
    const body = JSON.stringify({
      metadata: { resourceVersion: '9' },
      items: Array.from({ length: 30_000 }, (_, index) => bigService(index)),
    })
    await using server = await startServer((_, response) => void response.end(body))
    const client = clientOf(server)
    await listPages(client, collection)
    const longestMs = await longestTurnMs(async () => {
      assert.equal((await listPages(client, collection)).items.length, 30_000)
    })
    const wholeMs = threadCpuMs(() => JSON.parse(body))
    assert.ok(
      longestMs < wholeMs * 0.75,
      `the longest turn took ${longestMs} ms of processor time, all in one go ${wholeMs}`,
    )
  })
})

function bigService(index: number) {
  const name = `service-${index}`
  return {
    metadata: {
      name,
      namespace: 'default',
      uid: crypto.randomUUID(),
      resourceVersion: `${index + 1}`,
      labels: { app: name },
    },
    spec: {
      clusterIP: '10.96.0.1',
      clusterIPs: ['10.96.0.1'],
      ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 8080 }],
      selector: { app: name, text: 'grüße "{[' },
    },
    status: { loadBalancer: {} },
  }
}
