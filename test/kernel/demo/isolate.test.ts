import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { runIsolated } from '../../../src/demo/isolate.ts'

const program = resolve(import.meta.dirname, 'isolate.program.ts')
const seenSchema = z.object({
  hostPid: z.number(),
  pid: z.number(),
  run: z.array(z.string()),
  links: z.array(z.string()),
})

describe('a program in namespaces of its own', () => {
  it('is the first process, with an empty /run and no link but loopback, and its exit code comes back', async () => {
    const { exitCode, stdout } = await runIsolated(program, [], { signal: AbortSignal.timeout(20_000), stdout: 'pipe' })
    const seen = seenSchema.parse(JSON.parse(stdout))
    assert.equal(exitCode, 0)
    assert.equal(seen.pid, 1)
    assert.deepEqual(seen.run, [])
    assert.ok(seen.links.includes('lo'))
    assert.ok(!seen.links.includes('eth0'))
  })

  it('ends on a signal, whatever it was doing', async () => {
    const { exitCode, signal, stdout } = await runIsolated(program, ['--stay'], {
      signal: AbortSignal.timeout(1500),
      stdout: 'pipe',
    })
    assert.deepEqual([exitCode, signal], [undefined, 'SIGKILL'])
    const { hostPid } = seenSchema.parse(JSON.parse(stdout))
    for (let tries = 0; isRunning(hostPid) && tries < 100; tries += 1) await sleep(10)
    assert.ok(!isRunning(hostPid))
  })
})

/** A zombie still has its pid, but does not run. */
function isRunning(pid: number): boolean {
  return existsSync(`/proc/${pid}`) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
}
