import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { findFreePort } from '../../helpers/free-port.ts'
import { untilAsync } from '../../helpers/until.ts'
import { ClientProgram, type ClientsServer, missingPrograms, startServer } from './programs.ts'

const operator = join(import.meta.dirname, 'kopf/operator.py')
const deadlineMs = 60_000

describe("an operator of kopf's, with Python's own client", { skip: missingPrograms('kopf') }, () => {
  const stack = new AsyncDisposableStack()
  const fleet = '/apis/example.com/v1/namespaces/default/ships'
  let server: ClientsServer
  let first: ClientProgram
  let second: ClientProgram

  const call = (method: string, path: string, body?: unknown) => server.admin.call(method, path, body)
  const get = async (path: string) => (await call('GET', path)).body
  const ship = () => get(`${fleet}/anna`)
  const orders = async () => (await get('/api/v1/namespaces/default/configmaps/anna')).data?.orders
  const eventually = (what: string, holds: () => Promise<boolean>) => untilAsync(what, holds, deadlineMs)
  const start = (priority: number) =>
    stack.use(
      new ClientProgram('kopf', ['run', '--all-namespaces', `--priority=${priority}`, operator], server, {
        PYTHONDONTWRITEBYTECODE: '1',
      }),
    )

  async function define(group: string, plural: string, kind: string, scope: string): Promise<void> {
    const schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
    const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }
    const names = { plural, singular: kind.toLowerCase(), kind }
    const { code } = await call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      metadata: { name: `${plural}.${group}` },
      spec: {
        group,
        scope,
        names,
        versions: [{ ...version, ...(kind === 'Ship' && { subresources: { status: {} } }) }],
      },
    })
    assert.equal(code, 201)
  }

  before(async () => {
    server = stack.use(await startServer('api,controllers', [`--controller-manager-port=${await findFreePort()}`]))
    await define('example.com', 'ships', 'Ship', 'Namespaced')
    // By these operators of kopf's see each other: the one with the highest priority works.
    await define('kopf.dev', 'clusterkopfpeerings', 'ClusterKopfPeering', 'Cluster')
    await call('POST', '/apis/kopf.dev/v1/clusterkopfpeerings', {
      ...{ apiVersion: 'kopf.dev/v1', kind: 'ClusterKopfPeering', metadata: { name: 'default' } },
    })
    first = start(100)
  })
  after(() => stack.disposeAsync())

  test('creates, updates, ticks, watches and asks its index', async () => {
    await eventually('it is ready', async () => /Initial authentication has finished/.test(first.log))
    const made = { apiVersion: 'example.com/v1', kind: 'Ship', metadata: { name: 'anna' }, spec: { orders: 'north' } }
    assert.equal((await call('POST', fleet, made)).code, 201)
    await eventually('its orders are made', async () => (await orders()) === 'north')
    await call('PATCH', `${fleet}/anna`, { spec: { orders: 'south' } })
    await eventually('its orders are new', async () => (await orders()) === 'south')
    await eventually('its status has all', async () => {
      const { metadata, status = {} } = await ship()
      const isWatched = metadata.annotations?.watched === 'true'
      return (
        isWatched && status.phase === 'made' && status.ticks > 1 && status.indexed && status.create?.made === 'anna'
      )
    })
    const reasons = async () =>
      (await get('/api/v1/namespaces/default/events')).items.map((each: { reason: string }) => each.reason)
    await eventually('its event is there', async () => (await reasons()).includes('Ordered'))
  })

  test('another one waits for the first, and works when that was killed', async () => {
    second = start(50)
    await eventually('it waits', async () => /Pausing operations/i.test(second.log))
    await first.stop('SIGKILL')
    await call('PATCH', `${fleet}/anna`, { spec: { orders: 'east' } })
    await eventually('its orders are new', async () => (await orders()) === 'east')
  })

  test('the handler of a deletion comes before the end, and what was adopted goes too', async () => {
    await call('DELETE', `${fleet}/anna`)
    await eventually('the ship is gone', async () => (await ship()).code === 404)
    assert.ok((await get('/api/v1/namespaces/default/configmaps/anna-left')).metadata.uid)
    await eventually('its orders are gone', async () => (await orders()) === undefined)
  })

  test('none has complained', () => {
    for (const { log } of [first, second]) assert.doesNotMatch(log, /\[(WARNING|ERROR|CRITICAL) *\]|Traceback/)
  })
})
