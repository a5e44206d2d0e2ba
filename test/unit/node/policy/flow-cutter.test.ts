import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Ip } from '../../../../src/model/ip.ts'
import { FlowCutter } from '../../../../src/node/policy/flow-cutter.ts'
import { StandingRules } from '../../../../src/node/policy/standing-rules.ts'
import type { TrackedFlow } from '../../../../src/node/policy/tracked-flows.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { until } from '../../../helpers/until.ts'

const [web, server] = ['10.244.1.5' as Ip, '10.244.2.1' as Ip]

function flow(source: Ip, replySource: Ip, replySourcePort: number, protocol = 6): TrackedFlow {
  return { source, replySource, replySourcePort, protocol }
}

/** A table of connections of which those to port 80 are allowed, under rules that stand. */
async function createCutter(flows: TrackedFlow[]) {
  const rules = new StandingRules()
  await rules.change(async () => {})
  const seen: string[] = []
  const barred: TrackedFlow[] = []
  const runs: number[] = []
  const allowed = new Set([80])
  const hooks = { onList: async () => {}, onRemove: async () => {} }
  const cutter = new FlowCutter({
    family: 'IPv4',
    rules,
    flows: {
      list: async (from) => {
        seen.push(`list ${from?.join() ?? 'all'}`)
        const found = flows.filter(({ source }) => from?.includes(source) ?? true)
        await hooks.onList()
        return found
      },
      remove: async (stale) => {
        await hooks.onRemove()
        seen.push(`remove ${stale.length}`)
        for (const each of stale) flows.splice(flows.indexOf(each), 1)
      },
      removeOf: async (addresses) => void seen.push(`remove ${addresses.join()}`),
    },
    barred: {
      bar: async (stale) => void barred.push(...stale),
      release: async () => {},
      releaseServers: async (addresses) => void seen.push(`release ${[...addresses].join()}`),
    },
    createJudge: () => (each) => allowed.has(each.replySourcePort),
    metrics: { observeCut: (_durationMs, deleted) => runs.push(deleted) },
    log: silentLogger,
    minGapMs: () => 0,
  })
  return { cutter, rules, seen, barred, runs, allowed, hooks }
}

describe('the cutter of connections', () => {
  test('bars and deletes exactly the connections that are not allowed', async () => {
    const flows = [flow(web, server, 80), flow(web, server, 443), flow(web, server, 53, 17), flow(web, server, 0, 1)]
    const { cutter, runs, barred } = await createCutter(flows)
    cutter.judgeAll()
    await until('it has run', () => runs.length === 1)
    assert.deepEqual(flows, [flow(web, server, 80)])
    assert.deepEqual(barred, [flow(web, server, 443), flow(web, server, 53, 17), flow(web, server, 0, 1)])
    assert.deepEqual(runs, [3])
  })

  test('deletes nothing that a change allows before the deletion', async () => {
    const flows = [flow(web, server, 443), flow(web, server, 53, 17)]
    const { cutter, rules, runs, allowed, barred, hooks } = await createCutter(flows)
    hooks.onList = async () => {
      hooks.onList = async () => {}
      void rules.change(async () => void allowed.add(443))
    }
    cutter.judgeAll()
    await until('it has searched again', () => runs.length === 2)
    assert.deepEqual(flows, [flow(web, server, 443)])
    assert.deepEqual(barred, [flow(web, server, 53, 17)])
  })

  test('no change begins between the last judgement of a connection and its deletion', async () => {
    const flows = [flow(web, server, 443)]
    const { cutter, rules, runs, seen, hooks } = await createCutter(flows)
    let change: Promise<void> | undefined
    hooks.onRemove = async () => {
      change = rules.change(async () => void seen.push('change'))
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    cutter.judgeAll()
    await until('it has run', () => runs.length === 1)
    await change
    assert.deepEqual(seen, ['list all', 'remove 1', 'change'])
  })

  test('a change waits for a few deletions, not for all', async () => {
    const flows = Array.from({ length: 30 }, (_, port) => flow(web, server, 1_000 + port))
    const { cutter, rules, runs, seen, hooks } = await createCutter(flows)
    let change: Promise<void> | undefined
    hooks.onRemove = async () => {
      change ??= rules.change(async () => void seen.push('change'))
    }
    cutter.judgeAll()
    await until('it has run', () => runs.length === 1)
    await change
    assert.equal(seen.indexOf('change'), 2, seen.join(', '))
    assert.deepEqual(flows, [])
  })

  test('a change waits for more deletions where the kernel names each connection', async () => {
    const deletion = { type: 0, payload: Buffer.alloc(0) }
    const flows = Array.from({ length: 100 }, (_, port) => ({ ...flow(web, server, 1_000 + port), deletion }))
    const { cutter, runs, seen } = await createCutter(flows)
    cutter.judgeAll()
    await until('it has run', () => runs.length === 1)
    assert.deepEqual(seen, ['list all', 'remove 64', 'remove 36'])
  })

  test('its stop waits for a few deletions, not for all', async () => {
    const flows = Array.from({ length: 30 }, (_, port) => flow(web, server, 1_000 + port))
    const { cutter, hooks } = await createCutter(flows)
    const begun = Promise.withResolvers<void>()
    hooks.onRemove = async () => begun.resolve()
    cutter.judgeAll()
    await begun.promise
    await cutter.stop({ signal: AbortSignal.timeout(1_000) })
    assert.equal(flows.length, 26)
  })

  test('a search that a change overlaps is made again', async () => {
    const { cutter, rules, runs, seen, hooks } = await createCutter([flow(web, server, 80)])
    hooks.onList = async () => {
      hooks.onList = async () => {}
      await rules.change(async () => {})
    }
    cutter.judgeAll()
    await until('it has searched again', () => runs.length === 2)
    assert.deepEqual(seen, ['list all', 'list all'])
  })

  test('after a change that failed nothing is cut before one succeeds', async () => {
    const flows = [flow(web, server, 443)]
    const { cutter, rules, runs, seen } = await createCutter(flows)
    await assert.rejects(rules.change(() => Promise.reject(new Error('refused'))))
    cutter.judgeAll()
    cutter.forget([web])
    await until('it has run', () => runs.length >= 1)
    assert.deepEqual([flows.length, seen], [1, [`list ${web}`]])
    await rules.change(async () => {})
    cutter.judgeAll()
    await cutter.whenForgotten(1_000)
    await until('it is cut', () => flows.length === 0)
  })

  test('forgets the addresses that left their pods, those of its family only, and bars what their servers may still send', async () => {
    const other = '10.244.1.6' as Ip
    const flows = [flow(web, server, 443), flow(web, server, 80), flow(web, other, 443), flow(server, web, 443)]
    const { cutter, seen, barred } = await createCutter(flows)
    cutter.forget([web, 'fd00::5' as Ip, other])
    await cutter.whenForgotten(1_000)
    assert.deepEqual(seen, [`list ${web},${other}`, `release ${web},${other}`, `remove ${web},${other}`])
    assert.deepEqual(barred, [flow(web, server, 443)])
  })

  test('waits for nothing where no address has left', async () => {
    const { cutter } = await createCutter([])
    const startedMs = performance.now()
    await cutter.whenForgotten(20_000)
    assert.ok(performance.now() - startedMs < 10_000)
  })

  test('tries again what failed and says so meanwhile', async () => {
    const flows = [flow(web, server, 443)]
    const { cutter, runs, hooks } = await createCutter(flows)
    hooks.onRemove = async () => {
      hooks.onRemove = async () => {}
      throw new Error('the table is busy')
    }
    cutter.judgeAll()
    await until('it is degraded', () => cutter.health().level === 'degraded')
    assert.match(cutter.health().message, /the table is busy/)
    await until('it has run', () => runs.length === 1)
    assert.deepEqual(flows, [])
    assert.equal(cutter.health().level, 'ok')
  })
})
