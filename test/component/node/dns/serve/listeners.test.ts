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

test('open sockets have the blocks of a new configuration at once, not after others were opened or closed', async (context) => {
  const responder = new Responder({ resolve: () => undefined, writeLog: () => {} })
  const listeners = new Listeners(responder, () => false)
  context.after(() => listeners.closeAll())
  const [kept, removed, added] = [await findFreePort(), await findFreePort(), await findFreePort()]
  const at = (port: number, block: number) =>
    ({ address: ipOf('127.0.0.1'), port, access: 'all', blocks: [block] }) as const
  const blocksOf = () => [kept, removed, added].map((port) => listeners.find(port)?.current.blocks)
  await listeners.change([at(kept, 0), at(removed, 1)], 10)
  const first = listeners.change([at(added, 0), at(kept, 1), at(removed, 2)], 10)
  assert.deepEqual(blocksOf(), [[1], [2], undefined])
  const second = listeners.change([at(added, 1), at(kept, 0)], 10)
  assert.deepEqual(blocksOf(), [[0], [], undefined])
  await first
  assert.deepEqual(blocksOf(), [[0], [], [1]])
  await second
  assert.deepEqual(blocksOf(), [[0], undefined, [1]])
})
