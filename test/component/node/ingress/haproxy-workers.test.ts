import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { HaproxyProcess } from '../../../../src/node/ingress/haproxy/process.ts'
import {
  ask,
  HaproxyLab,
  haproxySkipReason,
  testLimits,
  wholeChange,
  withEndpoints,
} from '../../../helpers/haproxy-lab.ts'
import { startBackend } from '../../../helpers/in-process-ingress.ts'
import { routingTable } from '../../../helpers/routing-tables.ts'
import { createSelfSigned } from '../../../helpers/self-signed.ts'
import { untilAsync } from '../../../helpers/until.ts'

const host = 'a.example.com'

test('of workers with connections that reloads have replaced, four stay; the others end with what they had', {
  skip: haproxySkipReason(),
}, async () => {
  await using lab = await HaproxyLab.create({ limits: { ...testLimits, backendTimeoutMs: 60_000 } })
  await using backend = await startBackend((request, response) => {
    if (request.url !== '/hold') response.end('ok')
  })
  const table = withEndpoints(routingTable({ [host]: { prefix: ['/'] } }), () => [backend.port])
  const { cert, key } = createSelfSigned()
  const certificate = { secret: 'a/b', hosts: [], fingerprint: 'a', chainPem: cert, keyPem: key, notAfterMs: 0 }
  const held: Socket[] = []
  await lab.driver.start()
  for (let turn = 0; turn < 7; turn += 1) {
    // A default certificate that comes or goes needs a reload.
    const next = { ...table, certificates: turn % 2 === 0 ? [] : [certificate] }
    await lab.driver.apply(next, wholeChange(next))
    const socket = connect(lab.httpPort, '127.0.0.1')
      .on('error', () => {})
      .resume()
    socket.write(`GET /hold HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
    held.push(socket)
    assert.equal((await ask(lab.httpPort, host, '/')).status, 200)
    await sleep(50)
  }
  assert.equal(lab.driver.work.reloads, 6)
  const process = new HaproxyProcess(lab.folder)
  await untilAsync('four old workers stay', async () => (await process.processes()).oldWorkers.length === 4)
  assert.deepEqual(
    held.map(({ destroyed, readableEnded, closed }) => destroyed || readableEnded || closed),
    [true, true, false, false, false, false, false],
  )
  for (const socket of held) socket.destroy()
})
