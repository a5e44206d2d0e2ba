import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2, constants } from 'node:http2'
import { createConnection, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { EchoServers, withEndpoints } from '../../../helpers/haproxy-lab.ts'
import { httpGet } from '../../../helpers/http-get.ts'
import { type DriverLab, ingressDrivers } from '../../../helpers/ingress-drivers.ts'
import { routingTable } from '../../../helpers/routing-tables.ts'
import { createSelfSigned } from '../../../helpers/self-signed.ts'

const host = 'a.example.com'
/** RFC 9113 section 3.4, and an empty frame SETTINGS. */
const http2Preface = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0, Buffer.alloc(0))])

/** RFC 9113 section 4.1. */
function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** Writes until the peer ends the connection or `maxBytes` are sent; returns whether it ended. */
async function writeUntilEnd(socket: Socket, block: Buffer, maxBytes: number): Promise<boolean> {
  let isEnded = false
  const ended = () => {
    isEnded = true
  }
  socket.on('error', ended).once('close', ended).resume()
  for (let sent = 0; sent < maxBytes && !isEnded; sent += block.length) {
    socket.write(block)
    await sleep(1)
  }
  socket.destroy()
  return isEnded
}

for (const { name, skip, create } of ingressDrivers)
  describe(`Under floods of one client ${name}`, { skip }, () => {
    let lab: DriverLab
    let echo: EchoServers

    before(async () => {
      lab = await create({ idleTimeoutMs: 1000 })
      echo = await EchoServers.start(1)
      const { cert, key } = createSelfSigned()
      const certificate = { secret: 'a/b', hosts: [], fingerprint: 'a', chainPem: cert, keyPem: key, notAfterMs: 0 }
      const table = withEndpoints(routingTable({ [host]: { prefix: ['/'] } }), () => echo.ports)
      const whole = { ...table, certificates: [certificate] }
      await lab.serve(whole)
    })
    after(async () => {
      await lab[Symbol.asyncDispose]()
      echo[Symbol.dispose]()
    })

    const openHttp2 = async (): Promise<Socket> => {
      const socket = connectTls({
        port: lab.httpsPort,
        host: '127.0.0.1',
        rejectUnauthorized: false,
        ALPNProtocols: ['h2'],
      })
      await once(socket, 'secureConnect')
      socket.write(http2Preface)
      return socket
    }

    /** Another client's requests are answered while the flood runs. */
    const othersAreServed = async (): Promise<void> => {
      for (let request = 0; request < 10; request += 1) {
        const startedMs = performance.now()
        const { status } = await httpGet({ host: '127.0.0.1', port: lab.httpPort, path: '/', headers: { host } })
        assert.equal(status, 200)
        // Clients, backend and the in-process driver share one thread here.
        assert.ok(performance.now() - startedMs < 5000, 'a request of another client took five seconds')
      }
    }

    test('serves others while thousands of HTTP/2 streams are reset at once', async () => {
      const session = connectHttp2(`https://127.0.0.1:${lab.httpsPort}`, { rejectUnauthorized: false })
      session.on('error', () => {})
      await once(session, 'remoteSettings')
      const others = othersAreServed()
      for (let stream = 0; stream < 3000 && !session.destroyed && !session.closed; stream += 1) {
        const request = session.request({ ':path': '/', ':authority': host })
        request.on('error', () => {}).close(constants.NGHTTP2_CANCEL)
        if (stream % 100 === 0) await sleep(1)
      }
      await others
      session.destroy()
      await othersAreServed()
    })

    test('cuts off a header block without an end before a megabyte', async () => {
      const socket = await openHttp2()
      // `:method: GET` of the static table (RFC 7541 appendix A), without END_HEADERS.
      socket.write(frame(1, 0, 1, Buffer.from([0x82])))
      const literal = Buffer.concat([Buffer.from([0x00, 1, 0x78, 100]), Buffer.alloc(100, 0x61)])
      const continuation = frame(9, 0, 1, Buffer.concat(Array<Buffer>(100).fill(literal)))
      const [isEnded] = await Promise.all([writeUntilEnd(socket, continuation, 1_000_000), othersAreServed()])
      assert.ok(isEnded, 'the connection still takes CONTINUATION frames')
    })

    test('serves others while PING and SETTINGS frames come without end', async () => {
      const socket = await openHttp2()
      const pings = Buffer.concat(Array<Buffer>(500).fill(frame(6, 0, 0, Buffer.alloc(8))))
      const settings = Buffer.concat(Array<Buffer>(500).fill(frame(4, 0, 0, Buffer.alloc(0))))
      await Promise.all([writeUntilEnd(socket, Buffer.concat([pings, settings]), 2_000_000), othersAreServed()])
      await othersAreServed()
    })

    test('ends bodies that stop after the idle time, and serves others meanwhile', async () => {
      const request = `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 1000\r\n\r\nx`
      const sockets = Array.from({ length: 100 }, () => createConnection(lab.httpPort, '127.0.0.1'))
      const startedMs = performance.now()
      const ended = sockets.map(async (socket) => {
        socket.on('error', () => {}).resume()
        socket.write(request)
        await once(socket, 'close')
      })
      await othersAreServed()
      await Promise.all(ended)
      assert.ok(performance.now() - startedMs < 5000, 'a body that stopped was waited for longer than the idle time')
    })
  })
