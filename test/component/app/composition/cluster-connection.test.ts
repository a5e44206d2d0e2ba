import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { ClusterConnection } from '../../../../src/app/composition/cluster-connection.ts'
import { createStateSources, LiveNodeState } from '../../../../src/node/state/index.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { clientOf, type ScriptedServer, sendJson, startServer } from '../../../helpers/scripted-server.ts'
import { until } from '../../../helpers/until.ts'
import { wireService } from '../../../helpers/wire-objects.ts'

const scope = { signal: new AbortController().signal }

/** A server with one Service; it answers every watch and sends nothing. */
function serveOneService(): Promise<ScriptedServer> {
  return startServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://h')
    if (url.pathname === '/apis') sendJson(response, { groups: [{ name: 'discovery.platform.internal' }] })
    else if (url.searchParams.get('watch') === 'true') response.writeHead(200).flushHeaders()
    else {
      const items = url.pathname === '/api/v1/services' ? [wireService('web', '1')] : []
      sendJson(response, { metadata: { resourceVersion: '10' }, items })
    }
  })
}

interface Parts {
  readonly state: LiveNodeState
  readonly connection: ClusterConnection
  readonly server: ScriptedServer
}

async function withConnection(body: (parts: Parts) => Promise<void>): Promise<void> {
  await using server = await serveOneService()
  const client = clientOf(server)
  const state = new LiveNodeState(silentLogger)
  const connection = new ClusterConnection({
    client,
    createEarly: (dialect, opened) => createStateSources({ client, dialect, state, opened, log: silentLogger }),
    log: silentLogger,
  })
  try {
    await body({ state, connection, server })
  } finally {
    await connection.stop(scope)
    client.close()
  }
}

const lists = ({ requests }: ScriptedServer) =>
  requests.filter((url) => url.includes('limit=') && !url.includes('watch=')).length

describe('the connection of an agent', () => {
  it('lists before it is started, and publishes nothing before', async () => {
    await withConnection(async ({ state, connection, server }) => {
      connection.begin()
      await until(
        'every list was read',
        () => lists(server) === 3 && state.stored('services', 'default/web') !== undefined,
      )
      assert.equal(state.synced, false)
      const changes: (readonly string[])[] = []
      state.subscribe(({ services }) => changes.push([...services]))
      await connection.start()
      await until('the informers run', () => connection.sources.length === 3)
      assert.deepEqual([state.synced, changes], [true, [['default/web']]])
      assert.equal(lists(server), 3)
    })
  })

  it('stops although it was never started', async () => {
    await withConnection(async ({ state, connection, server }) => {
      connection.begin()
      await until(
        'every list was read',
        () => lists(server) === 3 && state.stored('services', 'default/web') !== undefined,
      )
      await connection.stop(scope)
      assert.deepEqual([state.synced, connection.health().level], [false, 'stopped'])
    })
  })

  it('stops quietly while the server has never answered', async () => {
    await using server = await startServer(() => {})
    const client = clientOf(server)
    const connection = new ClusterConnection({ client, createEarly: () => [], log: silentLogger })
    connection.begin()
    await until('the server was asked', () => server.requests.length > 0)
    const unhandled: unknown[] = []
    const note = (reason: unknown) => void unhandled.push(reason)
    process.on('unhandledRejection', note)
    await connection.stop(scope)
    await setImmediate()
    process.off('unhandledRejection', note)
    client.close()
    assert.deepEqual(unhandled, [])
  })
})
