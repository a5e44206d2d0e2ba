import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connect, type TLSSocket } from 'node:tls'
import { startTestServer, testToken } from '../../helpers/api-server.ts'
import { paths } from '../../helpers/manifests.ts'

const dribblers = 50
const post = `POST ${paths.configMaps} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${testToken}\r\ncontent-type: application/json\r\n`
const slow = [
  { what: 'headers', opening: post, piece: (index: number) => `x-${index}: y\r\n`, limitMs: 12_000 },
  { what: 'a body', opening: `${post}content-length: 100000\r\n\r\n{"data":"`, piece: () => 'x', limitMs: 63_000 },
]

test(`${dribblers} clients each that dribble headers or a body are cut off in time, and do not delay other clients meanwhile`, async () => {
  await using server = await startTestServer()
  const all = slow.flatMap((one) => Array.from({ length: dribblers }, () => dribble(server.port, one)))
  const ended = Promise.all(all)
  let slowestMs = 0
  const others = setInterval(async () => {
    const startedMs = performance.now()
    const { code } = await server.call('GET', `${paths.configMaps}?limit=1`)
    slowestMs = Math.max(slowestMs, code === 200 ? performance.now() - startedMs : Number.POSITIVE_INFINITY)
  }, 500)
  try {
    for (const { what, lastedMs, limitMs } of await ended) {
      assert.ok(lastedMs < limitMs, `${what}: open for ${Math.round(lastedMs)} ms`)
    }
  } finally {
    clearInterval(others)
  }
  assert.ok(slowestMs > 0 && slowestMs < 5_000, `another client waited ${Math.round(slowestMs)} ms`)
})

/** How long the server lets a client go on that sends a little each half second. */
async function dribble(port: number, { what, opening, piece, limitMs }: (typeof slow)[number]) {
  const startedMs = performance.now()
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false })
  socket.on('error', () => {}).resume()
  socket.write(opening)
  let count = 0
  const timer = setInterval(() => socket.write(piece(count++)), 500)
  await closed(socket, limitMs + 10_000)
  clearInterval(timer)
  return { what, limitMs, lastedMs: performance.now() - startedMs }
}

function closed(socket: TLSSocket, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => socket.destroy(), timeoutMs)
    socket.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
