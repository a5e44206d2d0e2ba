import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { NftTableChange } from '../../../../../src/host/nft-monitor.ts'
import { renderTable } from '../../../../../src/netfilter/nft/render-table.ts'
import type { SetSpec } from '../../../../../src/netfilter/nft/types.ts'
import { ElementDriftWatch } from '../../../../../src/node/rules/nft/drift-watch.ts'
import { unchanged } from '../../../../../src/node/rules/reports.ts'
import { silentLogger } from '../../../../../src/observe/index.ts'

const own = 7
const foreign = 8

function startWatch(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  /** What was compared, each time: names of sets, or everything. */
  const compared: (readonly string[] | 'all')[] = []
  /** Who changed what was compared, each time. */
  const blamed: (string | undefined)[] = []
  const failures: Error[] = []
  const watch = new ElementDriftWatch({
    wanted: { table: renderTable({ family: 'IPv4' }, { drawUpTo: 4, timeouts: [] }) },
    writer: {
      verify: async (sets?: readonly SetSpec[], by?: string) => {
        blamed.push(by)
        compared.push(sets === undefined ? 'all' : sets.map(({ name }) => name))
        const failure = failures.shift()
        if (failure !== undefined) throw failure
        return { drift: [], readMs: 0, write: unchanged }
      },
    },
    session: { isOwn: ({ portId }) => portId === own },
    log: silentLogger,
  })
  const commit = (portId: number, ...changes: readonly Partial<NftTableChange>[]) =>
    watch.onCommit({ family: 'IPv4', portId, changes: changes.map((change) => ({ table: 'platnet', ...change })) })
  const wait = async (ms: number) => {
    t.mock.timers.tick(ms)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { watch, commit, wait, compared, blamed, failures }
}

describe('what others change in the table', () => {
  test('is repaired with the names of the programs that changed it', async (t) => {
    const { watch, wait, blamed } = startWatch(t)
    const changes = [{ table: 'platnet' }]
    watch.onCommit({ family: 'IPv4', portId: foreign, pid: 4711, program: 'nft', changes })
    watch.onCommit({ family: 'IPv4', portId: foreign, pid: 12, program: 'firewalld', changes })
    watch.onCommit({ family: 'IPv4', portId: own, pid: 13, program: 'node', changes })
    await wait(100)
    assert.deepEqual(blamed, ['nft (pid 4711), firewalld (pid 12)'])
  })

  test('has the sets compared in which elements changed, together after 100 ms', async (t) => {
    const { commit, wait, compared } = startWatch(t)
    commit(foreign, { set: 'endpoints', key: '01' })
    commit(foreign, { set: 'refuse', key: '02' }, { set: 'endpoints', key: '03' })
    await wait(99)
    assert.deepEqual(compared, [])
    await wait(1)
    assert.deepEqual(compared, [['endpoints', 'refuse']])
    await wait(10_000)
    assert.equal(compared.length, 1)
  })

  test('has everything compared where more than elements of known sets changed, or events were missed', async (t) => {
    const { watch, commit, wait, compared } = startWatch(t)
    for (const change of [{ chain: 'forward' }, { set: 'unknown', key: '01' }, {}]) {
      commit(foreign, change)
      await wait(100)
    }
    watch.onGap()
    await wait(100)
    assert.deepEqual(compared, ['all', 'all', 'all', 'all'])
  })

  test('is not what this writer or packets changed, nor what belongs to other tables', async (t) => {
    const { watch, commit, wait, compared } = startWatch(t)
    commit(own, { set: 'endpoints', key: '01' })
    commit(foreign, { set: 'clients', key: '01' })
    watch.onCommit({ family: 'IPv6', portId: foreign, changes: [{ table: 'platnet' }] })
    watch.onCommit({ family: 'IPv4', portId: foreign, changes: [{ table: 'nat', chain: 'OUTPUT' }] })
    await wait(100)
    assert.deepEqual(compared, [])
  })

  test('is compared again 0.1 s after a comparison that failed', async (t) => {
    const { commit, wait, compared, failures } = startWatch(t)
    failures.push(new Error('no socket'))
    commit(foreign, { set: 'endpoints', key: '01' })
    await wait(100)
    await wait(99)
    assert.equal(compared.length, 1)
    await wait(1)
    assert.deepEqual(compared, [['endpoints'], ['endpoints']])
  })

  test('is compared as a whole where more than 1,000 commits wait, which are not kept', async (t) => {
    const { commit, wait, compared } = startWatch(t)
    for (let count = 0; count <= 1_000; count++) commit(foreign, { set: 'endpoints', key: '01' })
    await wait(100)
    assert.deepEqual(compared, ['all'])
  })
})
