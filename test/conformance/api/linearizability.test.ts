import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AdminConnection } from '../../helpers/admin-connection.ts'
import { findFreePort } from '../../helpers/free-port.ts'
import { isLinearizable, type RegisterOperation } from '../../helpers/linearizability.ts'
import { type AdminAccess, PlatnetServer } from '../../helpers/platnet-server.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'

const configMaps = '/api/v1/namespaces/default/configmaps'
const clients = 6
const operationsEach = 40

type Effect = RegisterOperation['effect']

/** Reads, compare-and-swaps at the revision last seen, and writes without one, in turn as chance has it. */
async function useRegister(access: AdminAccess, name: string, initial: number): Promise<RegisterOperation[]> {
  const connection = new AdminConnection(access, 1)
  const operations: RegisterOperation[] = []
  let seen = initial
  for (let count = 0; count < operationsEach; count++) {
    const calledMs = performance.now()
    const effect = await act(connection, name, seen)
    operations.push({ calledMs, answeredMs: performance.now(), effect })
    if (effect.kind !== 'conflict') seen = effect.value
  }
  connection.close()
  return operations
}

async function act(connection: AdminConnection, name: string, seen: number): Promise<Effect> {
  const chance = Math.random()
  const path = `${configMaps}/${name}`
  const data = { value: String(Math.random()) }
  if (chance < 0.3) return { kind: 'read', value: revisionOf(await connection.call('GET', path)) }
  if (chance < 0.4) return { kind: 'write', value: revisionOf(await connection.call('PATCH', path, { data })) }
  const metadata = { name, resourceVersion: String(seen) }
  const reply = await connection.call('PUT', path, { metadata, data })
  if (reply.code === 409) return { kind: 'conflict', expected: seen }
  return { kind: 'write', value: revisionOf(reply), expected: seen }
}

function revisionOf({ code, body }: { code: number; body: { metadata: { resourceVersion: string } } }): number {
  assert.ok(code === 200 || code === 201, `answered with ${code}`)
  return Number(body.metadata.resourceVersion)
}

it('Concurrent reads and compare-and-swaps over HTTP are linearizable, key by key.', async (t) => {
  const server = new PlatnetServer(makeTemporaryFolder(t), await findFreePort())
  t.after(() => server.stop('SIGKILL'))
  const access = await server.start()
  const connection = new AdminConnection(access, 1)
  await Promise.all(
    ['a', 'b', 'c'].map(async (name) => {
      const initial = revisionOf(await connection.call('POST', configMaps, { metadata: { name } }))
      const operations = await Promise.all(Array.from({ length: clients }, () => useRegister(access, name, initial)))
      assert.ok(isLinearizable(operations.flat(), initial), `the history of ${name} has no order`)
      const kinds = new Set(operations.flat().map(({ effect }) => effect.kind))
      assert.deepEqual([...kinds].toSorted(), ['conflict', 'read', 'write'])
    }),
  )
  connection.close()
})

describe('the checker of histories', () => {
  const operation = (calledMs: number, answeredMs: number, effect: Effect): RegisterOperation => ({
    calledMs,
    answeredMs,
    effect,
  })

  it('takes what overlaps in any order.', () => {
    const write = operation(0, 10, { kind: 'write', value: 2 })
    assert.ok(isLinearizable([write, operation(1, 2, { kind: 'read', value: 1 })], 1))
    assert.ok(isLinearizable([write, operation(1, 2, { kind: 'read', value: 2 })], 1))
  })

  it('refuses a stale read, a lost update, and a conflict without a rival.', () => {
    const write = operation(0, 1, { kind: 'write', value: 2 })
    assert.ok(!isLinearizable([write, operation(2, 3, { kind: 'read', value: 1 })], 1))
    const rivals = [3, 4].map((value) => operation(0, 9, { kind: 'write', value, expected: 1 }))
    assert.ok(!isLinearizable(rivals, 1))
    assert.ok(!isLinearizable([operation(0, 1, { kind: 'conflict', expected: 1 })], 1))
  })
})
