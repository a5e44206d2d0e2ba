import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, request as httpsRequest } from 'node:https'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { startTestServer, testToken } from '../../../helpers/api-server.ts'
import { type ConnectLab, openUpgrade, startConnectLab } from '../../../helpers/connect-lab.ts'
import { type FakeAnswers, type FakeBackend, startFakeBackend, unasked } from '../../../helpers/fake-kubelet.ts'
import { findFreePort } from '../../../helpers/free-port.ts'
import { paths } from '../../../helpers/manifests.ts'
import { until } from '../../../helpers/until.ts'

const local = { podIPs: [{ ip: '127.0.0.1' }], podIP: '127.0.0.1' }

describe('the proxy to pods, Services and nodes', () => {
  let lab: ConnectLab
  let pod: FakeBackend
  let answers: FakeAnswers = {}
  before(async () => {
    lab = await startConnectLab()
    pod = await startFakeBackend({
      onRequest: (request, response) => answers.onRequest?.(request, response),
      onUpgrade: (request, socket, head) => answers.onUpgrade?.(request, socket, head),
    })
    const ports = [{ containerPort: pod.port }]
    await lab.addPod('web', { containers: [{ name: 'c', image: 'i', ports }] }, local)
  })
  after(async () => {
    await pod[Symbol.asyncDispose]()
    await lab[Symbol.asyncDispose]()
  })

  const prefix = () => `${paths.pods}/web:${pod.port}/proxy`
  const get = (path: string, headers = {}) => lab.server.call('GET', path, { headers })

  test('passes method, path, query, headers and body on, and the answer back', async () => {
    let seen: IncomingMessage | undefined
    let body = ''
    answers = {
      onRequest: async (request, response) => {
        seen = request
        for await (const chunk of request) body += chunk
        response.writeHead(418, 'Teapot', { 'x-kept': 'yes', 'access-control-allow-origin': '*' }).end(request.method)
      },
    }
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      body = ''
      const headers = { 'content-type': 'text/plain', 'x-own': 'a', cookie: 'k=v' }
      const path = `${prefix()}/a%20b//c%2Fd/?q=1&q=%2F`
      const answer = await lab.server.call(method, path, { body: 'the body', headers })
      assert.deepEqual([answer.code, answer.text, answer.headers['x-kept']], [418, method, 'yes'])
      assert.equal(answer.headers['access-control-allow-origin'], undefined)
      assert.deepEqual([seen?.url, body], ['/a%20b//c%2Fd/?q=1&q=%2F', 'the body'])
      const passed = seen?.headers ?? {}
      assert.deepEqual([passed['x-own'], passed.cookie, passed.authorization], ['a', 'k=v', undefined])
      assert.equal(passed['x-forwarded-uri'], `${prefix()}/a%20b//c%2Fd/`)
      assert.equal(passed['x-forwarded-for'], '127.0.0.1')
    }
    const head = await lab.server.call('HEAD', `${prefix()}/`)
    assert.deepEqual([head.code, head.text], [418, ''])
    assert.equal((await lab.server.call('TRACE', `${prefix()}/`)).code, 405)
  })

  test('takes the first port that the pod declares where none is named', async () => {
    answers = { onRequest: (_, response) => response.end('found') }
    assert.equal((await get(`${paths.pods}/web/proxy/`)).text, 'found')
    assert.equal((await get(`${paths.pods}/http:web:/proxy/`)).text, 'found')
    assert.equal((await get(`${paths.pods}/ftp:web:80/proxy/`)).code, 400)
    assert.equal((await get(`${paths.pods}/web:99999/proxy/`)).code, 400)
    assert.equal((await get(`${paths.pods}/absent/proxy/`)).code, 404)
  })

  test('sends a browser to the path with a slash at its end', async () => {
    const { code, headers } = await get(`${prefix()}?a=b`)
    assert.deepEqual([code, headers.location], [301, `${prefix()}/?a=b`])
  })

  test('leads redirects and links of pages through the server', async () => {
    const page = '<a href="/x">t</a><a href="y">'
    const rewritten = `<a href="${prefix()}/x">t</a><a href="y">`
    answers = {
      onRequest: (request, response) => {
        if (request.url === '/moved') response.writeHead(302, { location: '/next?a=b' }).end()
        else if (request.url === '/zip')
          response.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' }).end(gzipSync(page))
        else if (request.url === '/long')
          response.writeHead(200, { 'content-type': 'text/html' }).end(page + ' '.repeat(3_000_000))
        else response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page)
      },
    }
    assert.equal((await get(`${prefix()}/moved`)).headers.location, `${prefix()}/next?a=b`)
    assert.equal((await get(`${prefix()}/`)).text, rewritten)
    assert.equal((await get(`${prefix()}/zip`, { 'accept-encoding': 'gzip' })).text, rewritten)
    const long = await get(`${prefix()}/long`)
    assert.deepEqual([long.text.length, long.text.startsWith(page)], [page.length + 3_000_000, true])
  })

  test('tunnels a request for another protocol', async () => {
    answers = {
      onUpgrade: (request, socket) => {
        const head = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', `Upgrade: ${request.headers.upgrade}`]
        socket.write([...head, '', request.url].join('\r\n'))
      },
    }
    const opened = await openUpgrade(lab.server, `${prefix()}/ws?x=1`, { method: 'GET', headers: { upgrade: 'chat' } })
    assert.ok('socket' in opened)
    let text = opened.head.toString()
    opened.socket.on('data', (chunk: Buffer) => (text += chunk))
    await until('the greeting came', () => text === '/ws?x=1')
    assert.equal(opened.headers.upgrade, 'chat')
    opened.socket.destroy()
    await until('the connection with the pod is closed', () => pod.open() === 0)
  })

  test('an answer without end ends at the pod when the client goes away', async () => {
    answers = { onRequest: (_, response) => void response.write('first') }
    const { port } = lab.server
    const options = { host: '127.0.0.1', port, path: `${prefix()}/`, agent: false, rejectUnauthorized: false }
    const request = httpsRequest({ ...options, headers: { authorization: `Bearer ${testToken}` } }).end()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    assert.equal((await once(response, 'data'))[0].toString(), 'first')
    assert.equal(pod.open(), 1)
    response.on('error', () => {})
    request.destroy()
    await until('the connection with the pod is closed', () => pod.open() === 0)
  })

  test('an upload that breaks off breaks off at the pod', async () => {
    let taken: IncomingMessage | undefined
    answers = {
      onRequest: (request) => {
        taken = request.on('error', () => {}).resume()
      },
    }
    const headers = { authorization: `Bearer ${testToken}`, 'content-length': 100 }
    const options = { host: '127.0.0.1', port: lab.server.port, method: 'POST', path: `${prefix()}/`, headers }
    const request = httpsRequest({ ...options, agent: false, rejectUnauthorized: false }).on('error', () => {})
    request.write('half')
    await until('the pod is asked', () => taken !== undefined)
    request.destroy()
    await until('the connection with the pod is closed', () => pod.open() === 0)
    assert.equal(taken?.complete, false)
  })

  test('a pod that is away is a 503', async () => {
    const port = await findFreePort()
    const { code, body } = await get(`${paths.pods}/web:${port}/proxy/`)
    const message = `error trying to reach service: connect ECONNREFUSED 127.0.0.1:${port}`
    assert.deepEqual([code, body.message], [503, message])
  })

  test('an upload to a pod that is away is a 503 too, and the connection serves on', async () => {
    const port = await findFreePort()
    const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })
    const sockets = new Set<unknown>()
    const ask = async (method: string, body: Buffer) => {
      const headers = { authorization: `Bearer ${testToken}` }
      const path = `${paths.pods}/web:${port}/proxy/`
      const asked = httpsRequest({ host: '127.0.0.1', port: lab.server.port, method, path, agent, headers })
      asked.on('socket', (socket) => sockets.add(socket)).end(body)
      const [response] = (await once(asked, 'response')) as [IncomingMessage]
      return [response.statusCode, JSON.parse(await text(response)).reason]
    }
    for (const size of [0, 10, 8_000_000])
      assert.deepEqual(await ask('POST', Buffer.alloc(size)), [503, 'ServiceUnavailable'], `${size} bytes`)
    assert.deepEqual(await ask('GET', Buffer.alloc(0)), [503, 'ServiceUnavailable'])
    assert.equal(sockets.size, 1)
    agent.destroy()
  })

  test('a reason phrase that is no text is left out, and the server serves on', async () => {
    for (const headers of ['', 'Content-Type: text/html\r\n']) {
      answers = {
        onRequest: ({ socket }) =>
          void socket.end(`HTTP/1.1 200 O\x01K\r\n${headers}Content-Length: 5\r\nConnection: close\r\n\r\nfound`),
      }
      const answer = await get(`${prefix()}/`)
      assert.deepEqual([answer.code, answer.text], [200, 'found'])
    }
    answers = { onRequest: (_, response) => response.end('still') }
    assert.equal((await get(`${prefix()}/`)).text, 'still')
  })

  test('a pod that changes the protocol unasked is a 503, and its connection ends', async () => {
    answers = { onRequest: ({ socket }) => void socket.write(unasked) }
    const { code, body } = await get(`${prefix()}/`)
    const message = 'error trying to reach service: the backend changed the protocol unasked'
    assert.deepEqual([code, body.message], [503, message])
    await until('the connection with the pod is closed', () => pod.open() === 0)
  })

  test('a pod that changes the protocol unasked and resets its connection leaves the server serving', async () => {
    let reset: Promise<void> | undefined
    answers = {
      onRequest: ({ socket }) => {
        socket.write(unasked)
        reset = sleep(50).then(pod.reset)
      },
    }
    assert.equal((await get(`${prefix()}/`)).code, 503)
    await reset
    answers = { onRequest: (_, response) => response.end('still') }
    assert.equal((await get(`${prefix()}/`)).text, 'still')
  })

  test('leads to the endpoints of a Service that are pods of its namespace, by name or number of the port', async () => {
    answers = { onRequest: (_, response) => response.end('found') }
    const call = (path: string, body: object) => lab.server.call('POST', `/api/v1/namespaces/default/${path}`, { body })
    const ports = [{ name: 'http', port: 80, targetPort: pod.port }]
    const addEndpoints = async (name: string, address: object) => {
      await call('services', { metadata: { name }, spec: { ports } })
      const subsets = [{ addresses: [address], ports: [{ name: 'http', port: pod.port }] }]
      // Endpoints of loopback are no valid objects, so these go past the validation.
      const value = JSON.stringify({
        kind: 'Endpoints',
        apiVersion: 'v1',
        metadata: { name, namespace: 'default' },
        subsets,
      })
      await lab.server.store.commit([
        { kind: 'put', key: `/registry/endpoints/default/${name}`, value, expectedRevision: 0 },
      ])
    }
    const targetRef = { kind: 'Pod', namespace: 'default', name: 'web' }
    await lab.addPod('elsewhere', {}, { podIPs: [{ ip: '10.0.0.1' }] })
    await addEndpoints('good', { ip: '127.0.0.1', targetRef })
    // An operator's Service with endpoints outside the cluster must not lead the server there.
    for (const [name, target] of [
      ['bare', undefined],
      ['foreign', { ...targetRef, namespace: 'kube-system' }],
      ['other', { ...targetRef, name: 'elsewhere' }],
      ['missing', { ...targetRef, name: 'absent' }],
    ] as const)
      await addEndpoints(name, { ip: '127.0.0.1', ...(target === undefined ? {} : { targetRef: target }) })
    const ask = (name: string) => get(`/api/v1/namespaces/default/services/${name}/proxy/`)
    assert.equal((await ask('good:http')).text, 'found')
    assert.equal((await ask('good:80')).text, 'found')
    assert.equal((await ask('http:good:http')).text, 'found')
    const message = async (name: string) => (await ask(name)).body.message
    assert.equal(await message('good:81'), 'no service port 81 found for service "good"')
    assert.equal(await message('good:https'), 'no endpoints available for service "good:https"')
    for (const name of ['bare', 'foreign', 'other', 'missing'])
      assert.equal(await message(`${name}:http`), `no endpoints available for service "${name}:http"`)
    assert.equal((await ask('absent:http')).code, 404)
  })

  test('leads to the kubelet of a node with the client certificate, and to other ports without', async () => {
    lab.answer({ onRequest: (request, response) => response.end(request.url) })
    const node = async (name: string) => (await get(`/api/v1/nodes/${name}/proxy/logs/?x=1`)).text
    assert.equal(await node('n1'), '/logs/?x=1')
    assert.equal(lab.kubelet.asked.at(-1)?.client, 'kube-apiserver-kubelet-client')
    assert.equal(await node(`n1:${lab.kubelet.port}`), '/logs/?x=1')
    answers = { onRequest: (_, response) => response.end('a port of the node') }
    assert.equal(await node(`n1:${pod.port}`), 'a port of the node')
    assert.equal((await get('/api/v1/nodes/absent/proxy/')).code, 404)
  })

  test('needs the verb of the method on the subresource', async () => {
    const headers = { 'impersonate-user': 'someone' }
    const verbs = { GET: 'get', HEAD: 'get', POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' }
    for (const [method, verb] of Object.entries(verbs)) {
      const refused = await lab.server.call(method, `${prefix()}/`, { headers })
      assert.equal(refused.code, 403)
      if (method !== 'HEAD') assert.match(refused.body.message, new RegExp(`cannot ${verb} resource "pods/proxy"`))
    }
  })
})

test('No pod and no node leads the server to loopback, link-local or metadata addresses.', async () => {
  await using server = await startTestServer()
  const headers = { 'content-type': 'application/merge-patch+json' }
  for (const [index, ip] of [
    '127.0.0.1',
    '::1',
    '169.254.169.254',
    'fe80::1',
    '0.0.0.0',
    '::ffff:127.0.0.1',
  ].entries()) {
    const [pod, node] = [`${paths.pods}/p${index}`, `/api/v1/nodes/n${index}`]
    const spec = { containers: [{ name: 'c', image: 'i' }] }
    await server.call('POST', paths.pods, { body: { metadata: { name: `p${index}` }, spec } })
    await server.call('PATCH', `${pod}/status`, { headers, body: { status: { podIP: ip, podIPs: [{ ip }] } } })
    const status = { addresses: [{ type: 'InternalIP', address: ip }] }
    await server.call('POST', '/api/v1/nodes', { body: { metadata: { name: `n${index}` }, status } })
    for (const path of [`${pod}:80/proxy/`, `${node}/proxy/`, `${node}:80/proxy/`]) {
      const { code, body } = await server.call('GET', path)
      assert.deepEqual([code, body.message], [400, 'address not allowed'], `${path} ${ip}`)
    }
  }
})
