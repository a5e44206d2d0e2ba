import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { TableHandover } from '../../../../src/app/composition/table-handover.ts'
import type { Run } from '../../../../src/host/index.ts'
import { ExecError } from '../../../../src/host/programs/index.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { until } from '../../../helpers/until.ts'

const done = { endedBy: 'exit', exitCode: 0, stdout: '', stderr: '', durationMs: 1, pid: 77 } as const

/** A kernel that has our table, and a nft that refuses to delete it while `refuses` is set. */
function startHandover(t: TestContext) {
  const kernel = { hasTable: true, refuses: false }
  const inputs: string[] = []
  const run: Run = async (_file, _args, { input = '' }) => {
    inputs.push(input)
    if (kernel.refuses && input.startsWith('delete table'))
      throw new ExecError('failed', 'nft exited with 1', { command: 'nft', exitCode: 1, stderr: 'Error: Bad thing\n' })
    if (input.startsWith('delete table')) kernel.hasTable = false
    return done
  }
  const socket = { ask: () => (kernel.hasTable ? Buffer.alloc(4) : undefined) }
  const handover = new TableHandover({ family: 'IPv4', run, socket, log: silentLogger })
  t.after(() => handover.stop({ signal: AbortSignal.abort() }))
  return { handover, kernel, inputs }
}

describe('the table that the mode nftables left', () => {
  test('goes once the rules of iptables are complete, first what translates', async (t) => {
    const { handover, kernel, inputs } = startHandover(t)
    assert.deepEqual(inputs, [])
    handover.allow()
    await until('the table is gone', () => !kernel.hasTable)
    assert.match(inputs.at(-2) ?? '', /^flush chain ip platnet nat-prerouting\n/)
    assert.equal(inputs.at(-1), 'delete table ip platnet\n')
  })

  test('degrades the health while it cannot be removed, and no longer when another program removed it', async (t) => {
    const { handover, kernel } = startHandover(t)
    kernel.refuses = true
    handover.allow()
    await until('the health is degraded', () => handover.health().level === 'degraded')
    assert.match(handover.health().message, /stays beside the rules of iptables: .*Bad thing/)
    kernel.hasTable = false
    await until('the health is ok', () => handover.health().level === 'ok')
  })
})
