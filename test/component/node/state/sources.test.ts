import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, it } from 'node:test'
import { createStateSources, LiveNodeState, type WatchedResource } from '../../../../src/node/state/index.ts'
import { type Logger, silentLogger } from '../../../../src/observe/index.ts'
import { longestTurnMs } from '../../../helpers/longest-turn.ts'
import { clientOf, type ScriptedServer, sendJson, startServer, statusBody } from '../../../helpers/scripted-server.ts'
import { until } from '../../../helpers/until.ts'
import { dialect, type WireFixture, wireEndpoints, wireService, wireSlice } from '../../../helpers/wire-objects.ts'

const timing = { backoffBaseMs: 10, backoffMaxMs: 40, idleTimeoutMs: 5000, quickWatchMs: 100 }

/** The three collections of a server, with their open watches. */
class World {
  readonly items: Record<WatchedResource, WireFixture[]> = { services: [], endpointslices: [], endpoints: [] }
  readonly watches = new Map<WatchedResource, ServerResponse>()
  version = 10

  serve(): Promise<ScriptedServer> {
    return startServer((request, response) => {
      const url = new URL(request.url ?? '', 'http://h')
      const resource = url.pathname.split('/').at(-1) as WatchedResource
      if (url.searchParams.get('watch') !== 'true') {
        sendJson(response, { metadata: { resourceVersion: `${this.version}` }, items: this.items[resource] })
        return
      }
      response.writeHead(200).flushHeaders()
      this.watches.set(resource, response)
    })
  }

  /** Ends the history of the resource: the informer lists again and opens another watch. */
  expire(resource: WatchedResource): void {
    this.send(resource, 'ERROR', statusBody(410, 'Expired', 'too old'))
    this.watches.delete(resource)
  }

  send(resource: WatchedResource, type: string, object: unknown): void {
    this.watches.get(resource)?.write(`${JSON.stringify({ type, object })}\n`)
  }
}

async function run(world: World, log: Logger, body: (state: LiveNodeState, server: ScriptedServer) => Promise<void>) {
  await using server = await world.serve()
  const client = clientOf(server)
  const state = new LiveNodeState(log)
  const sources = createStateSources({ client, dialect, state, log, timing })
  const { signal } = new AbortController()
  try {
    await Promise.all(sources.map((source) => source.start({ signal })))
    await until('all watches are open', () => world.watches.size === 3)
    await body(state, server)
  } finally {
    await Promise.all(sources.map((source) => source.stop({ signal })))
    client.close()
  }
}

describe('the state sources', () => {
  it('bring what the server holds and what changes into the state', async () => {
    const world = new World()
    world.items.services.push(wireService('web', '1'))
    world.items.endpointslices.push(wireSlice('web-1', 'web', '2'))
    world.items.endpoints.push(wireEndpoints('db', '3', [{ addresses: [{ ip: '10.0.0.9' }] }]))
    await run(world, silentLogger, async (state, server) => {
      assert.ok(server.requests.some((url) => url.startsWith('/apis/discovery.platform.internal/v1/endpointslices?')))
      assert.ok(server.requests.some((url) => url.startsWith('/api/v1/endpoints?')))
      assert.deepEqual(
        [state.synced, state.slicesOf('default/web').length, state.slicesOf('default/db').length],
        [true, 1, 1],
      )
      world.send('services', 'ADDED', wireService('new', '11'))
      world.send('endpointslices', 'DELETED', wireSlice('web-1', 'web', '12'))
      await until('both have come', () => state.revision === 3)
      assert.ok(state.service('default/new'))
      assert.deepEqual([state.slicesOf('default/web'), state.seen('endpointslices')], [[], '12'])
      world.send('endpoints', 'BOOKMARK', { metadata: { resourceVersion: '40' } })
      await until('the bookmark has come', () => state.seen('endpoints') === '40')
    })
  })

  it('make no step of a relist, and complain of an object once a version', async () => {
    const world = new World()
    const warnings: string[] = []
    const log: Logger = { ...silentLogger, warn: (message) => warnings.push(message), child: () => log }
    world.items.services.push(wireService('web', '1', { type: 'Magic' }), wireService('db', '2'))
    const complaint =
      'Service default/web: spec.type: expected ClusterIP, NodePort, LoadBalancer or ExternalName, found "Magic"'
    await run(world, log, async (state) => {
      world.version = 20
      world.expire('services')
      await until('the list has come and the watch is open again', () => world.watches.size === 3)
      assert.equal(state.seen('services'), '20')
      assert.deepEqual([state.revision, warnings], [1, [complaint]])
      world.send('services', 'MODIFIED', wireService('web', '21', { type: 'Magic' }))
      await until('the event has come', () => state.seen('services') === '21')
      assert.deepEqual([state.revision, warnings, [...state.problems()].length], [1, [complaint, complaint], 1])
    })
  })

  it('read a version that they know again where a server with the state of a backup gave it to other content', async () => {
    const world = new World()
    world.version = 20
    world.items.services.push(wireService('web', '15', { clusterIP: '10.96.0.10' }))
    await run(world, silentLogger, async (state) => {
      world.version = 16
      world.items.services = [wireService('web', '15', { clusterIP: '10.96.0.11' })]
      world.expire('services')
      await until('the watch is open again', () => world.watches.size === 3)
      assert.deepEqual(state.service('default/web')?.clusterIps, ['10.96.0.11'])
    })
  })

  it('take 10,000 Services and their slices without holding up the event loop', async () => {
    const world = new World()
    for (let index = 0; index < 10_000; index += 1) {
      const ip = `10.${100 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`
      const addresses = [1, 2].map((host) => ({ addresses: [`10.244.${index & 255}.${host}`], nodeName: 'node-1' }))
      world.items.services.push(wireService(`s${index}`, '1', { clusterIP: ip }))
      world.items.endpointslices.push(wireSlice(`s${index}-1`, `s${index}`, '1', { endpoints: addresses }))
    }
    await run(world, silentLogger, async (state) => {
      world.version = 20
      world.items.services = world.items.services.map((service) => ({
        ...service,
        metadata: { ...service.metadata, resourceVersion: '2' },
      }))
      const longestMs = await longestTurnMs(() => {
        world.expire('services')
        return until('the list has come', () => state.seen('services') === '20', 20_000)
      })
      // The server of this test renders its list in the same process: some 15 ms in one go.
      assert.ok(longestMs < 50, `the longest turn took ${longestMs} ms of processor time`)
      assert.deepEqual([state.revision, [...state.serviceKeys()].length], [1, 10_000])
    })
  })
})
