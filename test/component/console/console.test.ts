import assert from 'node:assert/strict'
import http from 'node:http'
import { type TestContext, test } from 'node:test'
import { createConsole } from '../../../src/console/index.ts'
import { endpointAt, FakeServices, fakeSource, hostile, putMany, serviceAt } from '../../helpers/console-source.ts'
import { readStream } from '../../helpers/event-stream.ts'
import { httpGet } from '../../helpers/http-get.ts'
import { until } from '../../helpers/until.ts'

async function serve(context: TestContext, { source }: ReturnType<typeof fakeSource>) {
  const console = await createConsole(source)
  const server = http.createServer((message, response) => void console.handle(message, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  context.after(async () => {
    await console.close()
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    port,
    get: (path: string, headers: Record<string, string> = {}, method = 'GET') =>
      httpGet({ host: '127.0.0.1', port, path, headers, method }),
  }
}

test('Every answer forbids inline scripts, other origins, frames and forms, and says so to the browser.', async (context) => {
  const { get } = await serve(context, fakeSource(new FakeServices()))
  for (const path of ['/console/', '/console/api/none', '/', '/elsewhere']) {
    const { headers } = await get(path)
    const policy = String(headers['content-security-policy'])
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/, path)
    assert.match(policy, /form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'/)
    assert.doesNotMatch(policy, /unsafe/)
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['referrer-policy'], 'no-referrer')
  }
})

test('The page has no inline script or style; its files are kept for ever by their hash, and it itself is asked for again.', async (context) => {
  const { get } = await serve(context, fakeSource(new FakeServices()))
  const page = await get('/console/')
  assert.equal(page.headers['cache-control'], 'no-cache')
  assert.doesNotMatch(page.body, /<style|style=|<script(?![^>]*\bsrc=)| on[a-z]+=/)
  const files = Array.from(page.body.matchAll(/(?:src|href)="(\/console\/[^"]+)"/g), ([, path = '']) => path)
  assert.ok(files.length >= 5)
  for (const path of files) {
    const file = await get(path)
    assert.equal(file.status, 200, path)
    assert.equal(file.headers['cache-control'], 'public, max-age=31536000, immutable')
  }
  const again = await get('/console/', { 'if-none-match': page.headers.etag ?? '' })
  assert.deepEqual([again.status, again.body], [304, ''])
  assert.equal((await get(files[0]?.replace(/console\/[^/]+/, 'console/other') ?? '')).status, 404)
})

test('Only GET and HEAD are possible.', async (context) => {
  const { get } = await serve(context, fakeSource(new FakeServices()))
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH'])
    assert.equal((await get('/console/api/service', {}, method)).status, 405)
  assert.equal((await get('/console/', {}, 'HEAD')).body, '')
})

test('Files come compressed for who takes that, and plain for who does not.', async (context) => {
  const { get } = await serve(context, fakeSource(new FakeServices()))
  assert.equal((await get('/console/', { 'accept-encoding': 'gzip, br;q=0' })).headers['content-encoding'], 'gzip')
  assert.equal((await get('/console/', { 'accept-encoding': 'br' })).headers['content-encoding'], 'br')
  assert.equal((await get('/console/', {})).headers['content-encoding'], undefined)
})

test('A stream brings all Services, then only what changed; the source is open only while someone looks.', async (context) => {
  const services = new FakeServices()
  putMany(services, 1_200)
  const fake = fakeSource(services, { documents: { status: () => ({ problems: [hostile] }) } })
  const { port } = await serve(context, fake)
  assert.equal(fake.counts.opened, 0)
  const stream = await readStream(port, '/console/api/stream')
  const all = await stream.until(({ event, data }) => event === 'services' && data.complete === true)
  const rows = all.flatMap(({ event, data }) => (event === 'services' ? (data.rows ?? []) : []))
  assert.equal(rows.length, 1_200)
  assert.deepEqual(rows[3], ['default/web-00003', 'ClusterIP', '10.96.0.3', '80/TCP', 1, 2, 'partly', ''])
  assert.deepEqual(all.find(({ event }) => event === 'document')?.data.value, { problems: [hostile] })
  services.put(serviceAt(3), [endpointAt('10.244.0.9')])
  services.remove('default/web-00004')
  services.tell('default/web-00003', 'default/web-00003', 'default/web-00004')
  const [delta] = (await stream.until(({ event }) => event === 'services')).slice(-1)
  assert.deepEqual(delta?.data, {
    rows: [['default/web-00003', 'ClusterIP', '10.96.0.3', '80/TCP', 1, 1, 'ok', '']],
    gone: ['default/web-00004'],
    synced: true,
  })
  assert.deepEqual([fake.counts.opened, services.listeners], [1, 1])
  stream.close()
})

test('What cannot be answered is an error in words, without the reason from inside.', async (context) => {
  const questions = {
    '/fails': async () => {
      throw new Error('secret reason')
    },
  }
  const { get } = await serve(context, fakeSource(new FakeServices(), { questions }))
  const failed = await get('/console/api/fails')
  assert.equal(failed.status, 503)
  assert.doesNotMatch(failed.body, /secret/)
  assert.equal((await get('/console/api/toString')).status, 404)
})

test('A source that cannot be opened ends the stream, and the next viewer opens it again.', async (context) => {
  let attempts = 0
  const services = new FakeServices()
  const fake = fakeSource(services)
  const source = {
    ...fake.source,
    open: async () => {
      attempts += 1
      if (attempts === 1) throw new Error('no API server')
      return fake.source.open()
    },
  }
  const { port } = await serve(context, { ...fake, source })
  const first = await readStream(port, '/console/api/stream')
  await until('the stream has ended', () => first.isEnded)
  const second = await readStream(port, '/console/api/stream')
  await second.until(({ event, data }) => event === 'services' && data.complete === true)
  second.close()
})
