import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Listeners } from '../../../../../src/node/dns/serve/listeners.ts'
import { Responder } from '../../../../../src/node/dns/serve/responder.ts'
import { ipOf } from '../../../../helpers/addresses.ts'
import { findFreePort } from '../../../../helpers/free-port.ts'

test('of two changes at once the second one is what holds, whichever takes longer', async (context) => {
  const responder = new Responder({ resolve: () => undefined, writeLog: () => {} })
  const listeners = new Listeners(responder, () => false)
  context.after(() => listeners.closeAll())
  const ports = [await findFreePort(), await findFreePort(), await findFreePort(), await findFreePort()]
  const addresses = ports.map((port) => ({ address: ipOf('127.0.0.1'), port, access: 'all', blocks: [] }) as const)
  // The first one opens four addresses, one after the other, while the second one opens one.
  const failures = await Promise.all([listeners.change(addresses, 10), listeners.change(addresses.slice(3), 10)])
  assert.deepEqual(failures, [[], []])
  assert.deepEqual(listeners.places, [{ address: '127.0.0.1', port: ports[3] }])
})
