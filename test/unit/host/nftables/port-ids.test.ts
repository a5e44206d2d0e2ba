import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PortIds } from '../../../../src/host/nftables/port-ids.ts'

test('the port of an own commit is known for ten seconds after the newest one, and another program may have that pid afterwards', (t) => {
  let nowMs = 1_000
  t.mock.method(performance, 'now', () => nowMs)
  const ports = new PortIds()
  ports.add(77)
  nowMs += 9_000
  ports.add(77)
  ports.add(78)
  nowMs += 9_999
  assert.deepEqual(
    [77, 78, 79].map((port) => ports.has(port)),
    [true, true, false],
  )
  nowMs += 1
  assert.deepEqual(
    [77, 78].map((port) => ports.has(port)),
    [false, false],
  )
})
