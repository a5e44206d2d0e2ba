import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { createInterface } from 'node:readline'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import WebSocket from 'ws'
import { readRefusal } from '../../../../src/api/connect/serve-log.ts'
import { testToken } from '../../../helpers/api-server.ts'
import { type ConnectLab, openUpgrade, startConnectLab } from '../../../helpers/connect-lab.ts'
import { unasked } from '../../../helpers/fake-kubelet.ts'
import { paths } from '../../../helpers/manifests.ts'
import { until } from '../../../helpers/until.ts'

describe('logs of pods', () => {
  let lab: ConnectLab
  before(async () => {
    lab = await startConnectLab()
    await lab.addPod('web')
    await lab.addPod('waiting', { nodeName: undefined })
    await lab.addPod('two', { containers: ['a', 'b'].map((name) => ({ name, image: 'i' })) })
  })
  after(() => lab[Symbol.asyncDispose]())

  const get = (path: string) => lab.server.call('GET', `${paths.pods}/${path}`)
  const follow = async (path: string): Promise<IncomingMessage> => {
    const headers = { authorization: `Bearer ${testToken}` }
    const { port } = lab.server
    const options = { host: '127.0.0.1', port, path: `${paths.pods}/${path}`, agent: false, rejectUnauthorized: false }
    const request = httpsRequest({ ...options, headers }).end()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    return response
  }

  test('come from the kubelet of the node, which is asked by the client certificate', async () => {
    lab.answer({ onRequest: (_, response) => response.end('one\ntwo\n') })
    const { code, text, headers } = await get('web/log?tailLines=2&timestamps=true')
    assert.deepEqual([code, text, headers['content-type']], [200, 'one\ntwo\n', 'text/plain'])
    const { line, client, headers: sent } = lab.kubelet.asked.at(-1) ?? assert.fail()
    assert.equal(line, 'GET /containerLogs/default/web/c?timestamps=true&tailLines=2')
    assert.equal(client, 'kube-apiserver-kubelet-client')
    assert.equal(sent.authorization, undefined)
    assert.equal((await get('two/log?container=b')).code, 200)
    assert.equal(lab.kubelet.asked.at(-1)?.line, 'GET /containerLogs/default/two/b')
  })

  test('of a pod without a node are empty, and what cannot be asked for is refused before the kubelet is asked', async () => {
    const asked = lab.kubelet.asked.length
    assert.deepEqual([(await get('waiting/log')).code, (await get('waiting/log')).text], [204, ''])
    assert.equal((await get('absent/log')).body.message, 'pods "absent" not found')
    const choice = 'a container name must be specified for pod two, choose one of: [a b]'
    assert.deepEqual([(await get('two/log')).code, (await get('two/log')).body.message], [400, choice])
    assert.equal((await get('web/log?tailLines=-1')).code, 422)
    assert.equal((await lab.server.call('POST', `${paths.pods}/web/log`)).code, 405)
    assert.equal((await get('web/log/more')).code, 404)
    assert.equal(lab.kubelet.asked.length, asked)
  })

  test('carry what the kubelet refuses', async () => {
    const refuse = (status: number, text: string) =>
      lab.answer({ onRequest: (_, response) => response.writeHead(status).end(text) })
    const waiting = 'container "c" in pod "web" is waiting to start: ContainerCreating'
    refuse(400, waiting)
    const early = (await get('web/log')).body
    assert.deepEqual([early.code, early.reason, early.message], [400, 'BadRequest', waiting])
    refuse(404, 'pod not found')
    const gone = (await get('web/log')).body
    assert.deepEqual([gone.code, gone.reason, gone.details.kind], [404, 'NotFound', 'pods/log'])
    refuse(500, 'no such container')
    assert.equal((await get('web/log')).body.message, 'Internal error occurred: no such container')
    refuse(302, '')
    assert.equal((await get('web/log')).code, 500)
  })

  test('of a kubelet that refuses without end carry 50,000 characters, and its connection ends', async () => {
    const part = 'x'.repeat(10_000)
    let sentBytes = 0
    lab.answer({
      onRequest: (_, response) => {
        response.writeHead(400)
        const more = () => {
          do sentBytes += part.length
          while (response.write(part))
          response.once('drain', more)
        }
        more()
      },
    })
    const { code, body } = await get('web/log')
    assert.deepEqual([code, body.message], [400, 'x'.repeat(50_000)])
    await until('the connection with the kubelet is closed', () => lab.kubelet.open() === 0)
    // The buffers of a connection hold less.
    assert.ok(sentBytes < 20_000_000, `${sentBytes} bytes`)
  })

  test('carry what a kubelet that never ends its refusal has said within the limit', async () => {
    lab.answer({ onRequest: (_, response) => void response.writeHead(400).write('half') })
    const { port } = lab.kubelet
    const request = httpsRequest({ host: '127.0.0.1', port, agent: false, rejectUnauthorized: false }).end()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    await once(response, 'readable')
    assert.equal(await readRefusal(response, 50), 'half')
    await until('the connection with the kubelet is closed', () => lab.kubelet.open() === 0)
  })

  test('of a kubelet that changes the protocol unasked are a 500, also when it resets the connection', async () => {
    lab.answer({ onRequest: ({ socket }) => void socket.write(unasked) })
    assert.equal((await get('web/log?follow=true')).code, 500)
    await until('the connection with the kubelet is closed', () => lab.kubelet.open() === 0)
    let reset: Promise<void> | undefined
    lab.answer({
      onRequest: ({ socket }) => {
        socket.write(unasked)
        reset = sleep(50).then(lab.kubelet.reset)
      },
    })
    assert.equal((await get('web/log?follow=true')).code, 500)
    await reset
    lab.answer({ onRequest: (_, response) => response.end('still') })
    assert.equal((await get('web/log')).text, 'still')
  })

  test('end at the kubelet when their WebSocket is refused', async () => {
    let isAsked = false
    lab.answer({
      onRequest: (_, response) => {
        isAsked = true
        response.write('one\n')
      },
    })
    const headers = {
      ...{ upgrade: 'websocket', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-version': '13' },
      'sec-websocket-protocol': 'foo',
    }
    const opened = await openUpgrade(lab.server, `${paths.pods}/web/log?follow=true`, { method: 'GET', headers })
    assert.equal(opened.code, 400)
    assert.ok(isAsked)
    await until('the connection with the kubelet is closed', () => lab.kubelet.open() === 0)
  })

  test('that are followed come line by line, at 1,000 lines a second and more, none lost', async () => {
    let answer: ServerResponse | undefined
    lab.answer({
      onRequest: (_, response) => {
        answer = response
        response.write('line 0\n')
      },
    })
    const response = await follow('web/log?follow=true')
    const lines = createInterface({ input: response })[Symbol.asyncIterator]()
    assert.equal((await lines.next()).value, 'line 0')
    let sent = 1
    const timer = setInterval(() => {
      for (let end = sent + 100; sent < end; sent++) answer?.write(`line ${sent}\n`)
      if (sent < 3000) return
      clearInterval(timer)
      answer?.end()
    }, 10)
    let seen = 1
    for (let next = await lines.next(); next.done !== true; next = await lines.next())
      assert.equal(next.value, `line ${seen++}`)
    assert.ok(response.complete)
    assert.equal(seen, sent)
  })

  test('of a client that stops reading are not collected in memory', async () => {
    let isBlocked = false
    lab.answer({
      onRequest: (_, response) => {
        const chunk = Buffer.alloc(256 * 1024, 'x')
        const more = () => {
          let count = 0
          while (response.write(chunk)) count++
          isBlocked = true
          response.once('drain', more)
          return count
        }
        more()
      },
    })
    const response = await follow('web/log?follow=true')
    response.pause()
    await until('the kubelet has to wait', () => isBlocked)
    response.destroy()
    await until('the connection with the kubelet is closed', () => lab.kubelet.open() === 0)
  })

  test('end at the kubelet when the client goes away, also before the first line', async () => {
    let isAsked = false
    lab.answer({ onRequest: () => (isAsked = true) })
    const request = httpsRequest({
      ...{ host: '127.0.0.1', port: lab.server.port, path: `${paths.pods}/web/log?follow=true` },
      ...{ agent: false, rejectUnauthorized: false, headers: { authorization: `Bearer ${testToken}` } },
    })
    request.on('error', () => {}).end()
    await until('the kubelet is asked', () => isAsked)
    assert.ok(lab.kubelet.open() > 0)
    request.destroy()
    await until('the connection with the kubelet is closed', () => lab.kubelet.open() === 0)
  })

  test('that break off at the kubelet do not look complete', async () => {
    lab.answer({
      onRequest: (_, response) => {
        response.write('half a li')
        setTimeout(() => response.destroy(), 20)
      },
    })
    const response = await follow('web/log')
    await assert.rejects(async () => {
      for await (const _ of response);
    })
    assert.equal(response.complete, false)
  })

  test('come by a WebSocket too, after an empty message', async () => {
    lab.answer({ onRequest: (_, response) => response.end('one\n') })
    const read = async (protocol: string) => {
      const options = { rejectUnauthorized: false, headers: { authorization: `Bearer ${testToken}` } }
      const webSocket = new WebSocket(`wss://127.0.0.1:${lab.server.port}${paths.pods}/web/log`, [protocol], options)
      const messages: string[] = []
      webSocket.on('message', (data) => messages.push(data.toString()))
      const [code] = await once(webSocket, 'close')
      return [webSocket.protocol, code, messages.join('|')]
    }
    assert.deepEqual(await read('binary.k8s.io'), ['binary.k8s.io', 1000, '|one\n'])
    assert.deepEqual(await read('base64.binary.k8s.io'), ['base64.binary.k8s.io', 1000, `|${btoa('one\n')}`])
    await assert.rejects(read('other.k8s.io'), /400/)
  })

  test('need the verb get on pods/log', async () => {
    const { certPem: cert, keyPem: key } = await lab.server.authority.issue('someone')
    const asked = lab.kubelet.asked.length
    const refused = await lab.server.call('GET', `${paths.pods}/web/log`, { token: null, tls: { cert, key } })
    const why = 'User "someone" cannot get resource "pods/log" in API group "" in the namespace "default"'
    assert.deepEqual([refused.code, refused.body.message], [403, `pods "web" is forbidden: ${why}`])
    assert.equal((await lab.server.call('GET', `${paths.pods}/web/log`, { token: null })).code, 401)
    assert.equal(lab.kubelet.asked.length, asked)
  })
})
