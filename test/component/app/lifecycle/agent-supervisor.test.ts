import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { AgentSupervisor } from '../../../../src/app/lifecycle/agent-supervisor.ts'
import { exitCodeOf } from '../../../../src/cli/exit-code.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { until } from '../../../helpers/until.ts'

const becomesReady = 'process.send({ kind: "ready" }); process.on("disconnect", () => process.exit())'

describe('the supervisor of the agent', () => {
  let supervisor: AgentSupervisor
  let readyCount = 0

  function supervise(script: string, silentAfterMs = 60_000): AgentSupervisor {
    readyCount = 0
    supervisor = new AgentSupervisor({
      command: () => [process.execPath, '--eval', script],
      onReady: () => {
        readyCount += 1
      },
      log: silentLogger,
      silentAfterMs,
    })
    return supervisor
  }

  afterEach(() => supervisor.stop({ signal: AbortSignal.timeout(2000) }))

  test('is not well before the agent has said that it is ready', async () => {
    await supervise('setInterval(() => {}, 1000)').start()
    assert.equal(supervisor.health().level, 'unknown')
  })

  test('passes on that the agent is ready', async () => {
    await supervise(becomesReady).start()
    await until('the agent is ready', () => readyCount === 1)
    assert.equal(supervisor.health().level, 'ok')
  })

  test('starts an agent that ended again, which is then ready again', async () => {
    await supervise(`${becomesReady}; setTimeout(() => process.exit(1), 50)`).start()
    await until('it was ready twice', () => readyCount >= 2)
  })

  test('ends an agent that is stuck after it was ready, and starts it again', async () => {
    const stuck = `${becomesReady}; setTimeout(() => { for (;;); }, 50)`
    await supervise(stuck, 200).start()
    await until('it was ready twice', () => readyCount >= 2)
  })

  test('leaves an agent alone that says in time that it works, and shows what it says', async () => {
    const alive = `${becomesReady}; setInterval(() => process.send({ kind: 'alive', status: 'dns: 3 names' }), 20)`
    await supervise(alive, 1_000).start()
    await until('it has said so', () => supervisor.health().message === 'dns: 3 names')
    // Longer than the silence and the time after it.
    await setTimeout(2_000)
    assert.deepEqual([readyCount, supervisor.health().level], [1, 'ok'])
  })

  test('ends the agent with SIGTERM, and one that does not listen with SIGKILL at the deadline', async () => {
    await supervise(`process.on('SIGTERM', () => {}); ${becomesReady}; setInterval(() => {}, 1000)`).start()
    await until('the agent is ready', () => readyCount === 1)
    const startedMs = performance.now()
    await supervisor.stop({ signal: AbortSignal.timeout(200) })
    assert.ok(performance.now() - startedMs >= 190)
    assert.equal(supervisor.health().level, 'stopped')
  })

  test('gives up an agent that refuses its options or its privilege, with the exit code that says so', async () => {
    for (const exitCode of [2, 4] as const) {
      await supervise(`process.exit(${exitCode})`).start()
      const reason = await supervisor.gaveUp
      assert.equal(exitCodeOf(reason), exitCode)
      assert.deepEqual([supervisor.health().level, supervisor.health().message], ['stopped', reason.message])
    }
  })

  test('a command that cannot be started is the start that fails', async () => {
    supervisor = new AgentSupervisor({ command: () => ['/no/such/program'], onReady: () => {}, log: silentLogger })
    await assert.rejects(supervisor.start())
  })
})
