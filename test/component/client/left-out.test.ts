import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ApiClient, Informer, type InformerHandler } from '../../../src/client/index.ts'
import { createRecordingLogger } from '../../helpers/recording-logger.ts'
import { clientOf, type ScriptedServer, startServer } from '../../helpers/scripted-server.ts'
import { until } from '../../helpers/until.ts'

const collection = { resource: { group: '', version: 'v1', resource: 'endpoints' } }

/** Endpoints with so many addresses that its JSON has about 8.6 MB, the fields in the order in which Kubernetes writes them. */
function largeEndpoints(resourceVersion: string) {
  const addresses = Array.from({ length: 100_000 }, (_, index) => ({
    ip: `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`,
    targetRef: { kind: 'Pod', namespace: 'tenant', name: `pod-${index}` },
  }))
  const metadata = { name: 'huge', namespace: 'tenant', uid: 'u1', resourceVersion }
  return { kind: 'Endpoints', apiVersion: 'v1', metadata, subsets: [{ addresses }] }
}

const named = (name: string, resourceVersion: string) => ({ metadata: { name, namespace: 'other', resourceVersion } })
const line = (type: string, object: unknown) => `${JSON.stringify({ type, object })}\n`
const large = JSON.stringify(largeEndpoints('3'))
const broken = '{"metadata":{"name":"broken","namespace":"tenant","resourceVersion":"4"},"subsets":[0x1]}'

class Calls implements InformerHandler {
  readonly calls: string[] = []

  onReplace(items: readonly { metadata: { name: string } }[], version: string, leftOut: readonly { name: string }[]) {
    const names = (objects: readonly { name: string }[]) => objects.map(({ name }) => name).join(',')
    this.calls.push(`replace ${names(items.map(({ metadata }) => metadata))} without ${names(leftOut)} @${version}`)
  }
  onEvent(type: string, { metadata }: { metadata: { name: string } }, resourceVersion: string): void {
    if (metadata.name === 'poison') throw new TypeError('this handler cannot take it')
    this.calls.push(`${type} ${metadata.name} @${resourceVersion}`)
  }
  onLeftOut({ name }: { name: string }): void {
    this.calls.push(`left out ${name}`)
  }
  onProgress(resourceVersion: string): void {
    this.calls.push(`progress @${resourceVersion}`)
  }
}

interface Followed {
  readonly calls: string[]
  readonly informer: Informer
  readonly client: ApiClient
  readonly server: ScriptedServer
  readonly logged: readonly string[]
}

/** Runs an informer against one list, whose items are given as JSON, and one watch. */
async function follow(
  items: readonly string[],
  lines: readonly string[],
  body: (followed: Followed) => Promise<void>,
): Promise<void> {
  await using server = await startServer((request, response) => {
    response.writeHead(200)
    if (request.url?.includes('watch=true') !== true) {
      response.end(`{"kind":"List","metadata":{"resourceVersion":"10"},"items":[${items.join(',')}]}`)
      return
    }
    response.flushHeaders()
    if (request.url.includes('resourceVersion=10&')) for (const text of lines) response.write(text)
  })
  const handler = new Calls()
  const client = clientOf(server)
  const { log, lines: logged } = createRecordingLogger()
  const informer = new Informer({ client, collection, handler, log })
  try {
    await informer.start({ signal: AbortSignal.timeout(10_000) })
    await body({ calls: handler.calls, informer, client, server, logged })
  } finally {
    await informer.stop()
    client.close()
  }
}

describe('an informer leaves out an object', () => {
  it('of 8.6 MB, or without JSON, in a list: the others are handed over, and it is counted, logged and reported in the health', async () => {
    assert.ok(large.length > 8.4e6)
    const items = [JSON.stringify(named('a', '1')), large, broken, JSON.stringify(named('b', '2'))]
    await follow(items, [], async ({ calls, informer, client, logged }) => {
      assert.deepEqual(calls, ['replace a,b without huge,broken @10'])
      assert.deepEqual([...client.leftOutCounts()], [['endpoints', 2]])
      assert.match(informer.health().message, /^in step, 2 objects left out, such as tenant\/huge: .*at most 8388608/)
      assert.equal(informer.health().level, 'ok')
      const warned = logged.filter((text) => text === 'warn an object is left out; the others go on')
      assert.equal(warned.length, 2)
    })
  })

  it('in a watch: the watch goes on after it without another list, and a version that can be read ends it', async () => {
    const lines = [
      line('ADDED', named('a', '11')),
      line('MODIFIED', largeEndpoints('12')),
      `{"type":"ADDED","object":{"metadata":{"name":"bad","namespace":"other","resourceVersion":"13"},"x":NaN}}\n`,
      line('ADDED', named('poison', '14')),
      line('MODIFIED', named('a', '15')),
      line('MODIFIED', { metadata: { ...largeEndpoints('16').metadata } }),
      line('DELETED', named('bad', '17')),
    ]
    await follow([], lines, async ({ calls, informer, client, server }) => {
      await until('all events have come', () => calls.at(-1) === 'DELETED bad @17')
      const events = ['ADDED a @11', 'left out huge', 'progress @12', 'left out bad', 'progress @13']
      assert.deepEqual(calls, [
        'replace  without  @10',
        ...events,
        'MODIFIED a @15',
        'MODIFIED huge @16',
        'DELETED bad @17',
      ])
      assert.deepEqual([...client.leftOutCounts()], [['endpoints', 1]])
      assert.match(informer.health().message, /other\/poison: .*cannot take it/)
      assert.equal(server.requests.filter((url) => !url.includes('watch')).length, 1)
    })
  })

  it('of 8.6 MB that is deleted: the handler hears of the deletion', async () => {
    await follow([large], [line('DELETED', largeEndpoints('12'))], async ({ calls, client }) => {
      await until('the deletion has come', () => calls.length === 2)
      assert.deepEqual(calls, ['replace  without huge @10', 'DELETED huge @12'])
      assert.deepEqual([...client.leftOutCounts()], [['endpoints', 0]])
    })
  })
})
