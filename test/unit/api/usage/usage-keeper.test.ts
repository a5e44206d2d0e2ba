import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AgentAddress, UsageKeeper } from '../../../../src/api/usage/usage-keeper.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { untilAsync } from '../../../helpers/until.ts'

const timing = { intervalMs: 150, firstIntervalMs: 120, agentTimeoutMs: 100, firstWaitMs: 1000, idleMs: 400 }

/** Agents that have used half a CPU all the time. */
function fakeAgents(names: readonly string[]) {
  const state = { asked: 0, atOnce: 0, most: 0, away: new Set<string>(), hanging: new Set<string>() }
  const fetch = async ({ node }: AgentAddress, signal: AbortSignal): Promise<string> => {
    state.asked++
    state.most = Math.max(state.most, ++state.atOnce)
    try {
      if (state.away.has(node)) throw new Error('connection refused')
      if (state.hanging.has(node)) await new Promise((_, reject) => signal.addEventListener('abort', reject))
      await new Promise((resolve) => setTimeout(resolve, 1))
    } finally {
      state.atOnce--
    }
    const nowMs = Date.now()
    return `node_cpu_usage_seconds_total ${nowMs / 2000} ${nowMs}\nnode_memory_working_set_bytes 1 ${nowMs}\n`
  }
  const agents = async () => names.map((node) => ({ node, host: '192.0.2.1', port: 1 }))
  return { state, keeper: new UsageKeeper({ agents, fetch, timing, log: silentLogger }) }
}

test('The first reader gets figures, sampling goes on while they are read, and ends without a reader', async () => {
  const { state, keeper } = fakeAgents(['a'])
  assert.equal(state.asked, 0)
  const cores = (await keeper.read()).get('a')?.node?.cpuCores ?? 0
  assert.ok(Math.abs(cores - 0.5) < 0.01, String(cores))
  assert.ok(state.asked >= 2, 'a rate takes two samples')
  await untilAsync('a third sample is taken while a reader reads', async () => {
    await keeper.read()
    return state.asked > 2
  })
  let before = 0
  await untilAsync('sampling has ended', async () => {
    const isQuiet = before === state.asked
    before = state.asked
    await new Promise((resolve) => setTimeout(resolve, 300))
    return isQuiet
  })
  assert.ok((await keeper.read()).get('a')?.node, 'a reader after a pause gets figures again')
  await keeper.stop()
})

test('An agent that is away or hangs delays no other, its figures are dropped, and at most 16 are asked at once', async () => {
  const names = Array.from({ length: 40 }, (_, index) => `n${index}`)
  const { state, keeper } = fakeAgents(names)
  state.hanging.add('n39')
  assert.equal((await keeper.read()).size, 39)
  assert.equal(state.most, 16)
  state.away.add('n0')
  await untilAsync('its figures are dropped', async () => !(await keeper.read()).has('n0'))
  assert.ok((await keeper.read()).has('n1'))
  state.away.delete('n0')
  await untilAsync('it is there again', async () => (await keeper.read()).has('n0'))
  await keeper.stop()
})

test('Without any agent that answers the reader waits its time and gets nothing', async () => {
  const { state, keeper } = fakeAgents(['a'])
  state.away.add('a')
  const startedMs = performance.now()
  assert.equal((await keeper.read()).size, 0)
  assert.ok(performance.now() - startedMs < 2000)
  await keeper.stop()
})
