import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AccessLog } from '../../../../src/node/ingress/access-log.ts'
import type { ServedRequest } from '../../../../src/node/ingress/driver.ts'
import { createRecordingLogger } from '../../../helpers/recording-logger.ts'

const request: ServedRequest = {
  client: '192.0.2.1',
  protocol: 'HTTP/1.1',
  isTls: false,
  method: 'GET',
  host: 'a',
  path: '/',
  status: 200,
  durationMs: 1,
  requestId: 'id',
}

for (const [share, lines] of [
  [0, 0],
  [0.001, 1],
  [0.1, 100],
  [0.3, 300],
  [1, 1000],
] as const)
  test(`Of 1000 requests a share of ${share} gives ${lines} lines`, () => {
    const { log, lines: written } = createRecordingLogger()
    const accessLog = new AccessLog(share, log)
    for (let count = 0; count < 1000; count += 1) accessLog.write(request)
    assert.equal(written.length, lines)
  })
