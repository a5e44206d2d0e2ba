import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ConnectLab, openUpgrade, startConnectLab } from '../../../helpers/connect-lab.ts'
import { paths } from '../../../helpers/manifests.ts'
import { until } from '../../../helpers/until.ts'

const web = `${paths.pods}/web`

/** Answers an upgrade as a kubelet does, with bytes right behind the head. */
function switchTo(socket: Duplex, headers: readonly string[], more = ''): void {
  socket.write(['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', ...headers, '', more].join('\r\n'), 'latin1')
}

const spdy = ['Upgrade: SPDY/3.1', 'X-Stream-Protocol-Version: v4.channel.k8s.io']

const webSocket = {
  upgrade: 'websocket',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'sec-websocket-version': '13',
}
const tunnel = { ...webSocket, 'sec-websocket-protocol': 'SPDY/3.1+portforward.k8s.io' }

/** A binary message of a client, less than 64 KiB, with the mask 0 (RFC 6455 section 5.2). */
function maskedFrame(payload: Buffer): Buffer {
  const head = Buffer.alloc(8)
  head.writeUInt16BE(0x82fe)
  head.writeUInt16BE(payload.length, 2)
  return Buffer.concat([head, payload])
}

/** The payloads of a server's whole binary messages, one after the other. */
function messagesOf(frames: Buffer): Buffer {
  const payloads: Buffer[] = []
  for (let at = 0; at + 2 <= frames.length; ) {
    assert.equal(frames[at], 0x82)
    const short = frames[at + 1] ?? 0
    const start = at + (short === 126 ? 4 : short === 127 ? 10 : 2)
    if (start > frames.length) break
    const length =
      short === 126 ? frames.readUInt16BE(at + 2) : short === 127 ? Number(frames.readBigUInt64BE(at + 2)) : short
    payloads.push(frames.subarray(start, start + length))
    at = start + length
  }
  return Buffer.concat(payloads)
}

describe('exec, attach and port-forward', () => {
  let lab: ConnectLab
  before(async () => {
    lab = await startConnectLab()
    await lab.addPod('web')
    await lab.addPod('waiting', { nodeName: undefined })
  })
  after(() => lab[Symbol.asyncDispose]())

  const open = async (path: string, headers: Readonly<Record<string, string>> = {}, method = 'POST') => {
    const opened = await openUpgrade(lab.server, path, { method, headers })
    assert.ok('socket' in opened, JSON.stringify(opened))
    return opened
  }
  const refusal = async (path: string) => {
    const opened = await openUpgrade(lab.server, path)
    assert.ok('text' in opened)
    return [opened.code, JSON.parse(opened.text).message]
  }

  test('pass the bytes of both directions on unchanged, and the headers of both sides but credentials', async () => {
    let seen: IncomingMessage | undefined
    lab.answer({
      onUpgrade: (request, socket) => {
        seen = request
        switchTo(socket, spdy, 'hello')
        socket.on('data', (chunk: Buffer) => socket.write(chunk.toReversed()))
      },
    })
    const query = 'stdin=true&stdout=1&stderr=false&tty=true&command=sh&command=-c&command=a%20b%26c&container=c'
    const offer = {
      'x-stream-protocol-version': 'v4.channel.k8s.io',
      'impersonate-extra-scopes': 'x',
      'x-remote-user': 'r',
    }
    const boss = { 'impersonate-user': 'boss', 'impersonate-group': 'system:masters' }
    const { headers, socket, head } = await open(`${web}/exec?${query}`, { ...offer, ...boss })
    assert.equal(headers['x-stream-protocol-version'], 'v4.channel.k8s.io')
    assert.equal(seen?.method, 'POST')
    assert.equal(seen?.url, '/exec/default/web/c?input=1&output=1&tty=1&command=sh&command=-c&command=a+b%26c')
    const passed = Object.keys(seen?.headers ?? {})
    assert.ok(passed.includes('x-stream-protocol-version'))
    for (const name of ['authorization', 'impersonate-user', 'impersonate-extra-scopes', 'x-remote-user'])
      assert.ok(!passed.includes(name), name)
    assert.equal(seen?.headers['x-forwarded-for'], '127.0.0.1')
    let text = head.toString('latin1')
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
    socket.write(Buffer.from([0x80, 0x03, 0xff, 0x61]))
    await until('both came', () => text === 'hello\x61\xff\x03\x80')
    socket.destroy()
    await until('the connection with the kubelet is closed', () => lab.kubelet.open() === 0)
  })

  test('attach and port-forward have their own paths at the kubelet', async () => {
    lab.answer({ onUpgrade: (_, socket) => switchTo(socket, spdy) })
    for (const [path, line] of [
      ['attach?stdout=true', 'GET /attach/default/web/c?output=1'],
      ['portforward?ports=80', 'GET /portForward/default/web?port=80'],
      ['portforward', 'GET /portForward/default/web'],
    ] as const) {
      const { socket } = await open(`${web}/${path}`, {}, 'GET')
      assert.equal(lab.kubelet.asked.at(-1)?.line, line)
      socket.destroy()
    }
    await until('the connections with the kubelet are closed', () => lab.kubelet.open() === 0)
  })

  test('what the kubelet sent before it closed reaches the client, and then the end', async () => {
    const last = Buffer.alloc(3_000_000, 'z')
    lab.answer({
      onUpgrade: (_, socket) => {
        switchTo(socket, spdy)
        socket.end(last)
      },
    })
    const { socket, head } = await open(`${web}/exec?command=x`)
    let bytes = head.length
    socket.on('data', (chunk: Buffer) => (bytes += chunk.length))
    await once(socket, 'close')
    assert.equal(bytes, last.length)
  })

  test('what the client sent before it closed reaches the kubelet, and then the end', async () => {
    let received = 0
    let isEnded = false
    lab.answer({
      onUpgrade: (_, socket) => {
        switchTo(socket, spdy)
        socket.on('data', (chunk: Buffer) => (received += chunk.length))
        socket.on('end', () => (isEnded = true))
      },
    })
    const { socket } = await open(`${web}/exec?command=x`)
    socket.end(Buffer.alloc(1_000_000))
    await until('the kubelet sees the end', () => isEnded)
    assert.equal(received, 1_000_000)
    await until('the connection with the kubelet is closed', () => lab.kubelet.open() === 0)
  })

  test('a refusal of the kubelet is the answer, and an answer that is neither is an error', async () => {
    const refuse = (status: number) =>
      lab.answer({
        onUpgrade: (_, socket) =>
          socket.end(`HTTP/1.1 ${status} X\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nwhy\n`),
      })
    refuse(403)
    const forbidden = await openUpgrade(lab.server, `${web}/exec?command=x`)
    assert.ok('text' in forbidden)
    assert.deepEqual([forbidden.code, forbidden.text, forbidden.headers['content-type']], [403, 'why\n', 'text/plain'])
    refuse(200)
    const message = 'Internal error occurred: invalid upgrade response: status code 200'
    assert.deepEqual(await refusal(`${web}/exec?command=x`), [500, message])
    await until('the connections with the kubelet are closed', () => lab.kubelet.open() === 0)
  })

  test('are refused where there is no pod, no node or no upgrade', async () => {
    assert.deepEqual(await refusal(`${paths.pods}/absent/exec`), [404, 'pods "absent" not found'])
    assert.deepEqual(await refusal(`${paths.pods}/waiting/exec`), [400, 'pod waiting does not have a host assigned'])
    assert.deepEqual(await refusal(`${web}/exec?container=x`), [400, 'container x is not valid for pod web'])
    const plain = await lab.server.call('POST', `${web}/exec?command=x`)
    assert.deepEqual([plain.code, plain.body.message], [400, 'Upgrade request required'])
    assert.equal((await lab.server.call('DELETE', `${web}/exec`)).code, 405)
  })

  test('GET needs the verb get and POST the verb create, and the error comes over the same connection', async () => {
    const ask = (method: string) =>
      openUpgrade(lab.server, `${web}/exec`, { method, headers: { authorization: 'Bearer x' } })
    assert.equal((await ask('GET')).code, 401)
    const headers = { 'impersonate-user': 'someone' }
    for (const [method, verb] of [
      ['GET', 'get'],
      ['POST', 'create'],
    ] as const) {
      const opened = await openUpgrade(lab.server, `${web}/exec`, { method, headers })
      assert.ok('text' in opened && opened.code === 403)
      assert.match(JSON.parse(opened.text).message, new RegExp(`cannot ${verb} resource "pods/exec"`))
    }
  })

  test('a WebSocket of v4.channel.k8s.io, whose input has no end, is passed on as it is', async () => {
    lab.answer({
      onUpgrade: (request, socket) => {
        assert.equal(request.headers['sec-websocket-protocol'], 'v4.channel.k8s.io')
        switchTo(socket, ['Upgrade: websocket', 'Sec-WebSocket-Protocol: v4.channel.k8s.io'], '\x82\x02\x01!')
      },
    })
    const headers = { ...webSocket, 'sec-websocket-protocol': 'v4.channel.k8s.io' }
    const { headers: answered, socket, head } = await open(`${web}/exec?command=x`, headers, 'GET')
    assert.equal(answered['sec-websocket-protocol'], 'v4.channel.k8s.io')
    if (head.length === 0) socket.unshift((await once(socket, 'data'))[0])
    assert.deepEqual(head.length > 0 ? [...head] : [...socket.read()], [0x82, 0x02, 0x01, 0x21])
    socket.destroy()
  })

  test('port-forward through a WebSocket is SPDY for the kubelet, byte for byte', async () => {
    let agreed: string | string[] | undefined
    lab.answer({
      onUpgrade: (request, socket) => {
        const { upgrade, 'x-stream-protocol-version': offered, 'sec-websocket-key': key } = request.headers
        assert.deepEqual([request.method, upgrade, key], ['POST', 'SPDY/3.1', undefined])
        // The end of a chunked body would be taken for SPDY.
        const { 'transfer-encoding': coding, 'content-length': length } = request.headers
        assert.deepEqual([coding, length], [undefined, '0'])
        agreed = offered
        switchTo(socket, ['Upgrade: SPDY/3.1', `X-Stream-Protocol-Version: ${offered}`], 'early')
        socket.pipe(socket)
      },
    })
    const { headers, socket, head } = await open(`${web}/portforward?ports=80`, tunnel, 'GET')
    assert.deepEqual(
      [headers['sec-websocket-protocol'], agreed],
      [tunnel['sec-websocket-protocol'], 'portforward.k8s.io'],
    )
    let frames = head
    socket.on('data', (chunk: Buffer) => (frames = Buffer.concat([frames, chunk])))
    const large = Buffer.alloc(60_000, 'x')
    socket.write(Buffer.concat([maskedFrame(Buffer.from('one')), maskedFrame(large)]))
    await until('all came back', () => messagesOf(frames).toString() === `earlyone${large}`)
    socket.destroy()
    await until('the connection with the kubelet is closed', () => lab.kubelet.open() === 0)
  })

  test('a tunnel ends when its client has gone, also while the kubelet does not read', async (context) => {
    let backend: Duplex | undefined
    const hurried = (ms: number | undefined) => ((ms ?? 0) < 10_000 ? ms : 20)
    const { setInterval: interval, setTimeout: timeout } = globalThis
    const connections = context.mock.method(Socket.prototype, 'connect').mock
    context.mock.method(globalThis, 'setInterval', (call: () => void, ms?: number) => interval(call, hurried(ms)))
    lab.answer({
      onUpgrade: (_, socket) => {
        switchTo(socket, ['Upgrade: SPDY/3.1', 'X-Stream-Protocol-Version: portforward.k8s.io'])
        backend = socket
        setImmediate(() => socket.pause())
      },
    })
    const { socket } = await open(`${web}/portforward?ports=80`, tunnel, 'GET')
    context.after(() => socket.destroy())
    context.mock.method(globalThis, 'setTimeout', (call: () => void, ms?: number) => timeout(call, hurried(ms)))
    // More than all buffers between the client and the kubelet take.
    socket.on('error', () => {}).resume()
    const frame = maskedFrame(Buffer.alloc(60_000))
    for (let count = 0; count < 1_000; count += 1) socket.write(frame)
    await until('something is on its way', () => socket.writableLength < 1_000 * frame.length)
    await sleep(300)
    assert.ok(socket.writableLength > 0)
    // The fake kubelet, which does not read, does not see that the connection with it has ended.
    const toKubelet = connections.calls
      .map((call) => call.this as Socket)
      .find((each) => each.remotePort === lab.kubelet.port)
    assert.equal(toKubelet?.destroyed, false)
    socket.destroy()
    await until('the connection with the kubelet is closed', () => toKubelet?.destroyed === true, 10_000)
    backend?.resume()
    await until('the kubelet has seen it', () => lab.kubelet.open() === 0)
  })

  test('a tunnel that the kubelet refuses is refused before the WebSocket opens', async () => {
    lab.answer({ onUpgrade: (_, socket) => socket.end('HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n') })
    const opened = await openUpgrade(lab.server, `${web}/portforward`, { method: 'GET', headers: tunnel })
    assert.deepEqual([opened.code, 'text' in opened && opened.text], [404, ''])
  })

  test('a server that stops ends them', async () => {
    await using other = await startConnectLab()
    await other.addPod('web')
    other.answer({ onUpgrade: (_, socket) => switchTo(socket, spdy) })
    const opened = await openUpgrade(other.server, `${web}/exec?command=x`)
    assert.ok('socket' in opened)
    opened.socket.on('error', () => {}).resume()
    const startedMs = performance.now()
    await Promise.all([other.server.stop(), once(opened.socket, 'close')])
    assert.ok(performance.now() - startedMs < 1500)
    assert.equal(other.kubelet.open(), 0)
  })
})
