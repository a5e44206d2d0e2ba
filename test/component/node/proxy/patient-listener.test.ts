import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { PatientListener } from '../../../../src/node/proxy/patient-listener.ts'
import { ipOf } from '../../../helpers/addresses.ts'
import { createRecordingLogger } from '../../../helpers/recording-logger.ts'
import { until } from '../../../helpers/until.ts'

test('a port that is taken is tried again every 10 s until it is open, and not any more after that', async (t) => {
  const holder = createServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  const address = holder.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const planned: (() => void)[] = []
  const wait = globalThis.setTimeout
  t.mock.method(globalThis, 'setTimeout', (job: () => void, ms: number) => {
    if (ms !== 10_000) return wait(job, ms)
    planned.push(job)
    return undefined
  })
  const { log, lines } = createRecordingLogger()
  const listener = new PatientListener({
    name: 'proxy-healthz',
    address: ipOf('127.0.0.1'),
    port,
    portOption: '--proxy-healthz-port',
    handler: (_, response) => void response.end('healthy'),
    log,
  })
  await listener.start()
  assert.equal(planned.length, 1)
  assert.equal(listener.health().level, 'degraded')
  planned[0]?.()
  await until('the second attempt has failed', () => planned.length === 2)
  assert.equal(lines.filter((line) => line.includes('cannot be opened yet')).length, 1)
  holder.close()
  await once(holder, 'close')
  planned[1]?.()
  await until('it is open', () => listener.health().level === 'ok')
  assert.equal(await (await fetch(`http://127.0.0.1:${port}/healthz`)).text(), 'healthy')
  assert.equal(planned.length, 2, 'nothing is planned while the port is open')
  await listener.stop({ signal: AbortSignal.timeout(5_000) })
})
