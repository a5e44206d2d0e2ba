import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { type InformerHandler, SharedInformer, type WireObject } from '../../../src/client/index.ts'
import { silentLogger } from '../../../src/observe/index.ts'
import { clientOf, sendJson, startServer } from '../../helpers/scripted-server.ts'
import { until } from '../../helpers/until.ts'

const forever = { signal: new AbortController().signal }
const collection = { resource: { group: '', version: 'v1', resource: 'nodes' } }

/** Records its calls, one line each. */
class Notes implements InformerHandler {
  readonly lines: string[] = []
  onList: () => Promise<void> | void = () => {}

  async onReplace(items: readonly WireObject[], resourceVersion: string): Promise<void> {
    this.lines.push(`replace ${items.map(describeItem).sort().join(',')} @${resourceVersion}`)
    await this.onList()
  }
  onEvent(type: string, object: WireObject, resourceVersion: string): void {
    this.lines.push(`${type} ${describeItem(object)} @${resourceVersion}`)
  }
  onProgress(): void {}
}

function describeItem({ metadata, ...fields }: WireObject): string {
  return [metadata.name, ...Object.values(fields)].join(' ')
}

function object(name: string, resourceVersion: string, fields: object = {}) {
  return { metadata: { name, resourceVersion }, ...fields }
}

/** A server with one list and watches that stay open; `send` writes an event to all of them. */
async function setUp(context: TestContext, items: readonly object[]) {
  const watches = new Set<ServerResponse>()
  const server = await startServer((request, response) => {
    if (request.url?.includes('watch=true') !== true)
      return sendJson(response, { metadata: { resourceVersion: '5' }, items })
    response.writeHead(200)
    response.flushHeaders()
    watches.add(response)
    response.on('close', () => watches.delete(response))
  })
  context.after(() => server.down())
  const client = clientOf(server)
  const shared = new SharedInformer({
    client,
    collection,
    log: silentLogger,
    reduce: (json) => {
      const { metadata, kept } = json as WireObject
      return kept === undefined ? { metadata } : { metadata, kept }
    },
    timing: { backoffBaseMs: 10, backoffMaxMs: 40, quickWatchMs: 100 },
  })
  const send = (type: string, changed: object) => {
    for (const watch of watches) watch.write(`${JSON.stringify({ type, object: changed })}\n`)
  }
  const follow = async (notes: Notes) => {
    const source = shared.follow(notes)
    context.after(() => source.stop(forever))
    await source.start(forever)
    return source
  }
  const requests = () => server.requests.map((url) => (url.includes('watch=true') ? 'watch' : 'list'))
  return { follow, send, watches, requests, shared }
}

describe('a shared informer', () => {
  it('has one list and one watch for all, and gives one that begins later what is known by then', async (context) => {
    const { follow, send, watches, requests } = await setUp(context, [object('a', '1'), object('b', '2')])
    const first = new Notes()
    const second = new Notes()
    await Promise.all([follow(first), follow(second)])
    await until('the watch is open', () => watches.size === 1)
    send('ADDED', object('c', '6'))
    send('DELETED', object('a', '7'))
    await until('both have both', () => first.lines.length === 3 && second.lines.length === 3)
    assert.deepEqual(first.lines, ['replace a,b @5', 'ADDED c @6', 'DELETED a @7'])
    assert.deepEqual(second.lines, first.lines)
    const late = new Notes()
    await follow(late)
    assert.deepEqual(late.lines, ['replace b,c @7'])
    send('MODIFIED', object('b', '8'))
    await until('all have it', () => [first, second, late].every(({ lines }) => lines.at(-1) === 'MODIFIED b @8'))
    assert.deepEqual(requests(), ['list', 'watch'])
  })

  it('hands over what the reducer leaves of each object, of those that change too', async (context) => {
    const { follow, send, watches } = await setUp(context, [object('a', '1', { kept: 'x', other: 'y' })])
    const notes = new Notes()
    await follow(notes)
    await until('the watch is open', () => watches.size === 1)
    send('MODIFIED', object('a', '6', { kept: 'z', other: 'y' }))
    await until('the change is there', () => notes.lines.length === 2)
    assert.deepEqual(notes.lines, ['replace a x @5', 'MODIFIED a z @6'])
  })

  it('lets no handler wait for one that is slow, which gets the newest state when it is done', async (context) => {
    const { follow, send, watches } = await setUp(context, [object('a', '1')])
    const [slow, quick] = [new Notes(), new Notes()]
    const { promise, resolve } = Promise.withResolvers<void>()
    slow.onList = () => promise
    const slowStart = follow(slow)
    await follow(quick)
    await until('the watch is open', () => watches.size === 1)
    send('ADDED', object('b', '6'))
    send('DELETED', object('a', '7'))
    await until('the quick one has both', () => quick.lines.length === 3)
    assert.deepEqual(slow.lines, ['replace a @5'])
    resolve()
    await slowStart
    await until('the slow one has the newest state', () => slow.lines.length === 2)
    assert.equal(slow.lines[1], 'replace b @7')
  })

  it('gives the collection again to a handler that failed to take it, while others go on', async (context) => {
    const { follow, shared } = await setUp(context, [object('a', '1')])
    const [failing, sound] = [new Notes(), new Notes()]
    let failures = 0
    failing.onList = () => {
      failures += 1
      if (failures < 3) throw new Error('it cannot be taken')
    }
    const failed: unknown[] = []
    const source = shared.follow(Object.assign(failing, { onFailure: (error: unknown) => failed.push(error) }))
    const start = source.start(forever)
    await follow(sound)
    await until('it has failed', () => failed.length > 0)
    assert.deepEqual([source.health().level, source.health().message], ['degraded', 'it cannot be taken'])
    await start
    assert.deepEqual(failing.lines, ['replace a @5', 'replace a @5', 'replace a @5'])
    assert.deepEqual(sound.lines, ['replace a @5'])
    assert.equal(source.health().level, 'ok')
    await source.stop(forever)
  })

  it('goes on for the others when one stops, and ends its watch with the last one', async (context) => {
    const { follow, send, watches, requests } = await setUp(context, [object('a', '1')])
    const [first, second, third] = [new Notes(), new Notes(), new Notes()]
    const source = await follow(first)
    const other = await follow(second)
    await until('the watch is open', () => watches.size === 1)
    await source.stop(forever)
    await source.stop(forever)
    send('ADDED', object('b', '6'))
    await until('the other has it', () => second.lines.length === 2)
    assert.deepEqual(first.lines, ['replace a @5'])
    await other.stop(forever)
    await until('the watch has ended', () => watches.size === 0)
    await follow(third)
    assert.deepEqual(third.lines, ['replace a @5'])
    await until('there is a watch again', () => watches.size === 1)
    assert.deepEqual(requests(), ['list', 'watch', 'list', 'watch'])
  })

  it('rejects a start that is given up, and leaves the others alone', async (context) => {
    const { follow, shared } = await setUp(context, [object('a', '1')])
    const [given, other] = [new Notes(), new Notes()]
    given.onList = () => new Promise((resolve) => setTimeout(resolve, 100))
    const giving = new AbortController()
    const start = shared.follow(given).start({ signal: giving.signal })
    giving.abort()
    await assert.rejects(start, /nodes could not be listed in time/)
    await follow(other)
    assert.deepEqual(other.lines, ['replace a @5'])
  })
})
