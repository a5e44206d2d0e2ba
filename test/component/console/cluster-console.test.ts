import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ApiClient, loadKubeconfig } from '../../../src/client/index.ts'
import { hostile } from '../../helpers/console-source.ts'
import { readStream } from '../../helpers/event-stream.ts'
import { findFreePort } from '../../helpers/free-port.ts'
import { httpGet } from '../../helpers/http-get.ts'
import { PlatnetServer } from '../../helpers/platnet-server.ts'
import { untilAsync } from '../../helpers/until.ts'

const core = (resource: string) => ({ resource: { group: '', version: 'v1', resource } })

test('The console of a server shows its Services, Nodes, Events and policies, and what changes.', async (context) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'platnet-console-'))
  const [port, consolePort] = [await findFreePort(), await findFreePort()]
  const server = new PlatnetServer(dataDir, port, {}, ['--components=api', `--server-console-port=${consolePort}`])
  context.after(async () => {
    await server.stop('SIGTERM')
    await rm(dataDir, { recursive: true })
  })
  await server.start()
  const client = new ApiClient(await loadKubeconfig(join(dataDir, 'admin.kubeconfig')))
  context.after(() => client.close())
  await client.create(core('nodes'), { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1' } })
  await client.create(
    { ...core('events'), namespace: 'default' },
    {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'web.1', namespace: 'default' },
      involvedObject: { kind: 'Service', namespace: 'default', name: 'web' },
      type: 'Warning',
      reason: 'Trouble',
      message: hostile,
    },
  )

  const listens = () =>
    httpGet({ host: '127.0.0.1', port: consolePort, path: '/console/' }).then(
      () => true,
      () => false,
    )
  await untilAsync('the console listens, which it does after the API', listens)
  const stream = await readStream(consolePort, '/console/api/stream')
  context.after(() => stream.close())
  const document = (name: string) => async () => {
    const events = await stream.until(
      ({ event, data }) => event === 'document' && data.name === name && data.value.length > 0,
    )
    return events.at(-1)?.data.value[0]
  }
  assert.equal((await document('nodes')()).name, 'node-1')
  assert.deepEqual((({ subject, message }) => [subject, message])(await document('events')()), [
    'Service default/web',
    hostile,
  ])

  const spec = { ports: [{ port: 80 }] }
  await client.create(
    { ...core('services'), namespace: 'default' },
    { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace: 'default' }, spec },
  )
  const changed = await stream.until(
    ({ event, data }) => event === 'services' && data.rows?.some(([key]: [string]) => key === 'default/web'),
  )
  const row = changed.at(-1)?.data.rows.find(([key]: [string]) => key === 'default/web')
  assert.deepEqual([row[1], ...row.slice(3, 7)], ['ClusterIP', '80/TCP', 0, 0, 'none'])

  const ask = async (path: string) => {
    const { status, body } = await httpGet({ host: '127.0.0.1', port: consolePort, path: `/console/api${path}` })
    return { status, body: JSON.parse(body) }
  }
  const explained = await ask('/service?service=default/web')
  assert.match(explained.body.families[0].ports[0].refusals[0], /no EndpointSlice belongs to it/)
  assert.equal((await ask('/service?service=default/none')).status, 404)
  assert.equal((await ask('/service?service=..')).status, 400)
  assert.deepEqual(
    (await ask('/policy/namespaces')).body.find(({ name }: { name: string }) => name === 'default'),
    { name: 'default', policies: 0 },
  )
  assert.deepEqual((await ask('/policy/matrix?namespace=default')).body.matrix.rows, [])
})
