import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { WebSocket } from 'ws'
import { testToken } from '../../../helpers/api-server.ts'
import { type ConnectLab, openUpgrade, startConnectLab } from '../../../helpers/connect-lab.ts'
import { paths } from '../../../helpers/manifests.ts'
import { SpdyKubelet } from '../../../helpers/spdy-kubelet.ts'
import { until } from '../../../helpers/until.ts'

const web = `${paths.pods}/web`
const protocol = 'v5.channel.k8s.io'

/** What a client has got: its channels' bytes, and the code with which the WebSocket was closed. */
interface Client {
  readonly webSocket: WebSocket
  readonly channels: ReadonlyMap<number, string>
  readonly messages: readonly Buffer[]
  closed: number | undefined
}

describe('commands by a WebSocket of v5.channel.k8s.io', () => {
  let lab: ConnectLab
  let kubelet: SpdyKubelet | undefined
  let asked: IncomingMessage | undefined
  before(async () => {
    lab = await startConnectLab()
    await lab.addPod('web')
  })
  after(() => lab[Symbol.asyncDispose]())

  async function start(query: string, subresource = 'exec'): Promise<{ client: Client; spdy: SpdyKubelet }> {
    kubelet = undefined
    lab.answer({
      onUpgrade: (request, socket) => {
        asked = request
        kubelet = new SpdyKubelet(socket)
      },
    })
    const url = `wss://127.0.0.1:${lab.server.port}${web}/${subresource}?${query}`
    const headers = { authorization: `Bearer ${testToken}` }
    const webSocket = new WebSocket(url, [protocol, 'v4.channel.k8s.io'], { headers, rejectUnauthorized: false })
    const channels = new Map<number, string>()
    const messages: Buffer[] = []
    const client: Client = { webSocket, channels, messages, closed: undefined }
    webSocket.on('message', (message: Buffer) => {
      messages.push(message)
      const channel = message[0] ?? -1
      channels.set(channel, (channels.get(channel) ?? '') + message.toString('latin1', 1))
    })
    webSocket.on('close', (code) => {
      client.closed = code
    })
    await once(webSocket, 'open')
    assert.equal(webSocket.protocol, protocol)
    const spdy = kubelet as SpdyKubelet | undefined
    assert.ok(spdy)
    await until('the streams are open', () => spdy.opened.at(-1) !== undefined && client.messages.length > 0)
    return { client, spdy }
  }
  const untilClosed = (client: Client) => until('the WebSocket is closed', () => client.closed !== undefined)

  test('standard input ends where the client says so, output and status come back, and all is closed', async () => {
    const { client, spdy } = await start('command=cat&stdin=true&stdout=true&stderr=true')
    assert.equal(asked?.method, 'POST')
    assert.equal(asked?.url, '/exec/default/web/c?input=1&output=1&error=1&command=cat')
    assert.equal(asked?.headers['x-stream-protocol-version'], 'v4.channel.k8s.io')
    assert.equal(asked?.headers['sec-websocket-protocol'], undefined)
    assert.deepEqual(spdy.opened, ['error', 'stdin', 'stdout', 'stderr'])
    // An empty message says that the connection stands.
    assert.deepEqual([...(client.messages[0] ?? [])], [1])
    client.webSocket.send(Buffer.from('\x00one '))
    client.webSocket.send(Buffer.from('\x00two'))
    client.webSocket.send(Buffer.from([255, 0]))
    await until('the input has ended', () => spdy.ended.has('stdin'))
    assert.equal(spdy.received.get('stdin'), 'one two')
    spdy.send('stdout', 'one ')
    spdy.send('stderr', 'warning')
    spdy.send('stdout', 'two', true)
    spdy.send('stderr', '', true)
    const status = '{"metadata":{},"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[]}}'
    spdy.send('error', status, true)
    await untilClosed(client)
    assert.deepEqual([...client.channels.entries()].sort(), [
      [1, 'one two'],
      [2, 'warning'],
      [3, status],
    ])
    assert.equal(client.closed, 1000)
    await until('the connection with the kubelet is closed', () => lab.kubelet.open() === 0)
  })

  test('the status waits for the last of the output, and streams that are reset have ended', async () => {
    const { client, spdy } = await start('stdout=true&stderr=true', 'attach')
    assert.equal(asked?.url, '/attach/default/web/c?output=1&error=1')
    spdy.send('error', '{"status":"Success"}')
    spdy.reset('error')
    spdy.sendControl(6, 2)
    await until('the ping is answered', () => spdy.pings.includes(2))
    assert.equal(client.channels.get(3), undefined)
    const long = 'x'.repeat(3_000_000)
    spdy.send('stdout', long)
    spdy.reset('stdout', 'stderr')
    await untilClosed(client)
    assert.equal(client.channels.get(1), long)
    assert.equal(client.channels.get(3), '{"status":"Success"}')
  })

  test('a terminal has its sizes and no stream for errors', async () => {
    const { client, spdy } = await start('command=sh&stdin=1&stdout=1&stderr=1&tty=1')
    assert.deepEqual(spdy.opened, ['error', 'stdin', 'stdout', 'resize'])
    client.webSocket.send(Buffer.from('\x04{"Width":80,"Height":24}\n'))
    // Channels that are not the client's, or do not exist, and an empty message change nothing.
    for (const message of ['\x01a', '\x03b', '\x09c', '']) client.webSocket.send(Buffer.from(message))
    client.webSocket.send(Buffer.from([255, 1]))
    client.webSocket.send(Buffer.from('\x00exit\n'))
    await until('all came', () => spdy.received.get('stdin') === 'exit\n')
    assert.deepEqual(Object.fromEntries(spdy.received), { resize: '{"Width":80,"Height":24}\n', stdin: 'exit\n' })
    assert.deepEqual([...spdy.ended], [])
    spdy.send('stdout', 'bye', true)
    spdy.send('error', '', true)
    await untilClosed(client)
    assert.equal(JSON.parse(client.channels.get(3) ?? '').status, 'Success')
  })

  test('a kubelet that breaks off, and one that does not speak SPDY, is a failure in the error channel', async () => {
    const first = await start('command=x&stdout=true')
    first.spdy.send('stdout', 'half')
    await until('the half has come', () => first.client.channels.get(1) === 'half')
    lab.kubelet.reset()
    await untilClosed(first.client)
    const message = 'Internal error occurred: the connection with the kubelet ended before the command'
    const { status, reason, message: said } = JSON.parse(first.client.channels.get(3) ?? '')
    assert.deepEqual([status, reason, said], ['Failure', 'InternalError', message])
    const second = await start('command=x&stdout=true')
    // The length of a control frame that no kubelet sends.
    second.spdy.sendControl(4, ...Array.from({ length: 20_000 }, () => 0))
    await untilClosed(second.client)
    assert.equal(JSON.parse(second.client.channels.get(3) ?? '').message, message)
    await until('the connections with the kubelet are closed', () => lab.kubelet.open() === 0)
  })

  test('what the client sent before it went reaches the kubelet, and then the end', async () => {
    const { client, spdy } = await start('command=x&stdin=true')
    assert.deepEqual(spdy.opened, ['error', 'stdin'])
    assert.deepEqual([...(client.messages[0] ?? [])], [3])
    for (let count = 0; count < 20; count += 1) client.webSocket.send(Buffer.alloc(100_001))
    client.webSocket.close()
    await until('all has come', () => spdy.received.get('stdin')?.length === 2_000_000)
    await until('the connection with the kubelet is closed', () => lab.kubelet.open() === 0)
  })

  test('many small messages at once wait for the kubelet with one listener', async () => {
    let warnings = 0
    const onWarning = ({ message }: Error) => {
      if (message.includes('drain')) warnings += 1
    }
    process.on('warning', onWarning)
    const { client, spdy } = await start('command=x&stdin=true')
    const message = Buffer.alloc(200)
    const count = 10_000
    for (let sent = 0; sent < count; sent += 1) client.webSocket.send(message)
    await until('all has come', () => spdy.received.get('stdin')?.length === count * (message.length - 1))
    process.off('warning', onWarning)
    assert.equal(warnings, 0)
    client.webSocket.close()
    await until('the connection with the kubelet is closed', () => lab.kubelet.open() === 0)
  })

  test('what the kubelet refuses is refused before the WebSocket opens', async () => {
    const headers = {
      ...{ upgrade: 'websocket', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-version': '13' },
      'sec-websocket-protocol': protocol,
    }
    lab.answer({ onUpgrade: (_, socket) => socket.end('HTTP/1.1 404 X\r\nContent-Length: 3\r\n\r\nwhy') })
    const path = `${web}/exec?command=x&stdout=1`
    const refused = await openUpgrade(lab.server, path, { method: 'GET', headers })
    assert.deepEqual([refused.code, 'text' in refused && refused.text], [404, 'why'])
    lab.answer({ onUpgrade: (_, socket) => void new SpdyKubelet(socket, []) })
    const mute = await openUpgrade(lab.server, path, { method: 'GET', headers })
    assert.ok('text' in mute)
    assert.match(mute.text, /unable to upgrade: missing upgrade headers in response/)
  })
})
