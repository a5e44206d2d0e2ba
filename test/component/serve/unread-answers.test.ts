import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { connect, type TLSSocket } from 'node:tls'
import { parseIp } from '../../../src/model/ip.ts'
import { silentLogger } from '../../../src/observe/index.ts'
import { httpsListener } from '../../../src/serve/index.ts'
import { makeThrowawayCa } from '../../helpers/certificates.ts'

const address = parseIp('127.0.0.1') ?? assert.fail()
const large = 'x'.repeat(16 * 1024 * 1024)
const body = Array.from({ length: 200_000 }, (_, index) => `line ${index}\n`).join('')
const hash = hashOf(body)
const rounds = 5

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** Answers a GET with 16 MiB, and everything else with the hash of its body and its number. */
function makeHandler(): RequestListener {
  let round = 0
  return (request, response) => {
    if (request.method === 'GET') {
      response.end(large)
      return
    }
    const digest = createHash('sha256')
    request.on('data', (chunk: Buffer) => digest.update(chunk))
    request.on('end', () => response.end(`received ${digest.digest('hex')} of round ${++round}`))
  }
}

/** Reads until the text ends so, and returns its last line. */
async function readUntil(socket: TLSSocket, end: string): Promise<string | undefined> {
  let received = ''
  while (!received.endsWith(end)) {
    const chunk: Buffer | null = socket.read()
    if (chunk === null) await once(socket, 'readable')
    else received = (received + chunk.toString('latin1')).slice(-1000)
  }
  return received.split('\r\n').at(-1)
}

test('Over TLS a large request is received whole that begins before the answer to the request before it has left.', async (context) => {
  const tls = makeThrowawayCa('cluster').issue('server')
  const listener = httpsListener({ name: 'test', address, port: 0, handler: makeHandler(), log: silentLogger, tls })
  await listener.start()
  context.after(() => listener.stop({ signal: AbortSignal.timeout(0) }))
  const socket = connect({ host: address, port: listener.port ?? 0, rejectUnauthorized: false })
  context.after(() => socket.destroy())
  await once(socket, 'secureConnect')
  for (let round = 1; round <= rounds; round += 1) {
    socket.write('GET / HTTP/1.1\r\nhost: test\r\n\r\n')
    // Nothing is read meanwhile, so most of the answer waits in the server.
    await setTimeout(50)
    // One write, so that the server decrypts several records of this request at once.
    socket.write(`PUT / HTTP/1.1\r\nhost: test\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
    assert.equal(await readUntil(socket, ` of round ${round}`), `received ${hash} of round ${round}`)
  }
})
