import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { configMap, paths } from '../../helpers/manifests.ts'
import { RawConnection, requestHead } from '../../helpers/raw-connection.ts'
import { until, untilAsync } from '../../helpers/until.ts'

const tenant = { token: 'tenant-token', user: { name: 'tenant', groups: [] } }
const other = { token: 'other-token', user: { name: 'other', groups: [] } }
const limits = { maxReads: 40, maxWrites: 20, maxWatches: 100 }

describe('one identity leaves to the others', () => {
  let server: TestServer
  const open: RawConnection[] = []
  before(async () => {
    server = await startTestServer({ tokens: [tenant, other], authorizationMode: 'AlwaysAllow', limits })
  })
  afterEach(async () => {
    for (const connection of open.splice(0)) connection[Symbol.dispose]()
    await sleep(50)
  })
  after(() => server.stop())

  /** So many connections of the tenant, with the same bytes sent over each. */
  async function occupy(count: number, bytes: string): Promise<RawConnection[]> {
    const made = await Promise.all(Array.from({ length: count }, () => RawConnection.open(server.port)))
    for (const connection of made) connection.send(bytes)
    open.push(...made)
    await sleep(50)
    return made
  }

  const create = (name: string, token: string) =>
    server.call('POST', paths.configMaps, { body: configMap(name), token })

  async function readsInFlight(): Promise<number> {
    const { text } = await server.call('GET', '/metrics')
    return Number(/apiserver_current_inflight_requests\{request_kind="readOnly"\} (\d+)/.exec(text)?.[1])
  }

  test('the slots of writes while its own send no body: a slot is taken when the body is there', async () => {
    const head = requestHead('POST', paths.configMaps, tenant.token, ['content-length: 1000'])
    const silent = await occupy(limits.maxWrites + 5, `${head}{"metadata"`)
    assert.deepEqual([(await create('a', other.token)).code, (await create('b', tenant.token)).code], [201, 201])
    for (const connection of silent) assert.equal(connection.text, '')
  })

  test('the slots of reads while its own wait for a resourceVersion from the future', async () => {
    const future = `${paths.configMaps}?resourceVersion=999999`
    const waiting = await occupy(limits.maxReads, requestHead('GET', future, tenant.token))
    const startedMs = performance.now()
    const codes = await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        const token = index % 2 === 0 ? tenant.token : other.token
        return (await server.call('GET', paths.configMaps, { token })).code
      }),
    )
    assert.deepEqual(codes, Array(8).fill(200))
    assert.ok(performance.now() - startedMs < 2_500)
    for (const connection of waiting) assert.equal(connection.text, '')
  })

  test('the slots of reads while its own long answers are not read', async () => {
    for (let index = 0; index < 10; index++) {
      const large = configMap(`large-${index}`, { a: 'x'.repeat(1_000_000) })
      assert.equal((await server.call('POST', paths.configMaps, { body: large })).code, 201)
    }
    const unread = await occupy(limits.maxReads, '')
    for (const connection of unread) connection.socket.pause()
    for (const connection of unread) connection.send(requestHead('GET', paths.configMaps, tenant.token))
    // 40 less a quarter, half of it, and the scrape itself.
    await untilAsync('its reads hold their share', async () => (await readsInFlight()) === 16)
    assert.equal((await server.call('GET', `${paths.configMaps}/a`, { token: other.token })).code, 200)
    assert.equal(await readsInFlight(), 16)
    for (const connection of unread) connection[Symbol.dispose]()
    await untilAsync('the slots are free', async () => (await readsInFlight()) === 1)
  })

  test('watches: one too many is a 429 with Retry-After, and a watch that ends makes room', async () => {
    const watch = requestHead('GET', `${paths.services}?watch=true`, tenant.token)
    const watches = await occupy(50, watch)
    await until('all are answered', () => watches.every(({ text }) => text.includes('\r\n\r\n')))
    const taken = watches.filter(({ text }) => text.startsWith('HTTP/1.1 200'))
    const refused = watches.filter(({ text }) => text.startsWith('HTTP/1.1 429') && /retry-after: 1/i.test(text))
    // 100 less the quarter that is kept for the system: half of it is one identity's.
    assert.deepEqual([taken.length, refused.length], [38, 12])
    using theirs = await RawConnection.open(server.port)
    theirs.send(requestHead('GET', `${paths.services}?watch=true`, other.token))
    await until('the watch of the other is answered', () => theirs.text.startsWith('HTTP/1.1 200'))
    for (const connection of watches) connection[Symbol.dispose]()
    await untilAsync('there is room again', async () => {
      using again = await RawConnection.open(server.port)
      again.send(watch)
      await until('it is answered', () => again.text.includes('\r\n\r\n'))
      return again.text.startsWith('HTTP/1.1 200')
    })
  })

  test('memory while it sends watches ahead over one connection: each waits for its turn, and too many cut it', async () => {
    const watch = requestHead('GET', `${paths.services}?watch=true`, tenant.token)
    const [few] = await occupy(1, watch.repeat(20))
    await until('the first is answered', () => few?.text.includes('ADDED') === true)
    // Those of the test before may still end.
    await untilAsync('one watch is open', async () => {
      const { text } = await server.call('GET', '/metrics')
      return /apiserver_longrunning_requests\{[^}]*resource="services"[^}]*\} 1\n/.test(text)
    })
    const [many] = await occupy(1, watch.repeat(200))
    await until('the connection is cut', () => many?.isClosed === true)
    const [gets] = await occupy(1, requestHead('GET', `${paths.configMaps}/a`, tenant.token).repeat(30))
    await until('requests sent ahead are answered in order', () => gets?.text.split('HTTP/1.1 200').length === 31)
  })
})

test('Large events reach all of many watches of one identity, whole and in order.', async () => {
  await using server = await startTestServer({ tokens: [tenant], authorizationMode: 'AlwaysAllow' })
  const put = (value: number) =>
    server.call('PUT', `${paths.configMaps}/large`, {
      body: configMap('large', { a: String(value).padEnd(400_000, 'x') }),
    })
  await server.call('POST', paths.configMaps, { body: configMap('large', { a: '0'.padEnd(400_000, 'x') }) })
  const watch = requestHead('GET', `${paths.configMaps}?watch=true`, tenant.token)
  const heard = Array.from({ length: 40 }, () => '')
  const connections = await Promise.all(heard.map(() => RawConnection.open(server.port)))
  for (const [index, { socket }] of connections.entries()) {
    socket.on('data', (chunk: Buffer) => {
      heard[index] += chunk.toString('latin1').replaceAll('x', '')
    })
    socket.write(watch)
  }
  for (let value = 1; value <= 3; value++) assert.equal((await put(value)).code, 200)
  await server.call('POST', paths.configMaps, { body: configMap('small') })
  await until('all have heard of all', () => heard.every((text) => text.includes('"small"')), 20_000)
  const valuesOf = (text: string) => Array.from(text.matchAll(/"a":"(\d)"/g), ([, value]) => value).join('')
  for (const text of heard) assert.ok('0123'.endsWith(valuesOf(text)) && valuesOf(text) !== '', valuesOf(text))
  for (const connection of connections) connection[Symbol.dispose]()
})

test('Bodies in transit may hold so much memory: the rest is a 429 before it is read to its end.', async () => {
  await using server = await startTestServer({ tokens: [tenant], authorizationMode: 'AlwaysAllow' })
  const head = requestHead('POST', paths.configMaps, tenant.token, ['content-length: 3000000'])
  const connections = await Promise.all(Array.from({ length: 40 }, () => RawConnection.open(server.port)))
  for (const connection of connections) connection.send(`${head}{`)
  // Of 256 MiB a quarter is kept for the system, and half of the rest is one identity's: 34 bodies of 3 MB.
  await until('some are refused', () => connections.filter(({ text }) => text.startsWith('HTTP/1.1 429')).length === 6)
  assert.equal(connections.filter(({ text }) => text === '').length, 34)
  assert.equal((await server.call('POST', paths.configMaps, { body: configMap('a') })).code, 201)
  for (const connection of connections) connection[Symbol.dispose]()
})
