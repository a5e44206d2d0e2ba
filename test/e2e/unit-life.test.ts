import assert from 'node:assert/strict'
import { accessSync, constants, existsSync, mkdirSync, readdirSync, rmdirSync } from 'node:fs'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { runIsolated } from '../../src/demo/isolate.ts'
import { skipReason } from '../helpers/netns.ts'

const hierarchies = ['/sys/fs/cgroup/unified', '/sys/fs/cgroup']
const hierarchy = hierarchies.find((folder) => existsSync(`${folder}/cgroup.controllers`) && isWritable(folder))
const skip =
  skipReason('iptables', 'nsenter', 'unshare', 'systemctl', '/lib/systemd/systemd', '/usr/lib/cni/bridge') ||
  (hierarchy === undefined && 'needs control groups of version 2 that can be made')

describe('platnet run as a unit of a real systemd', { skip }, () => {
  const group = `${hierarchy}/plt-unit-${process.pid}`
  // biome-ignore lint/suspicious/noExplicitAny: what the program saw, judged below
  let seen: any

  before(async () => {
    mkdirSync(group)
    const program = path.join(import.meta.dirname, 'unit-life.program.ts')
    const signal = AbortSignal.timeout(240_000)
    const { exitCode, stdout } = await runIsolated(program, [group], { signal, stdout: 'pipe' })
    assert.equal(exitCode, 0, 'the program failed; its output is above')
    seen = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')
  })
  after(() => removeGroup(group))

  test('READY comes once the first sync is in the kernel, a pod that is deleted leaves nothing, and a stop ends it with exit code 0', () => {
    assert.ok(seen.rulesAtReady > 0)
    assert.deepEqual(seen.end, ['success', '0'])
  })

  test("a pod has what it would have without the unit's limits: umask, out-of-memory score, a resolver it can read", () => {
    assert.equal(seen.firstLine, '22 0 nameserver 10.96.0.10')
  })

  test('over systemctl restart, kill -9 and a watchdog that ends a stuck process the same process runs on, ready, and no request fails', () => {
    assert.equal(seen.seen.length, 3)
    for (const after of seen.seen) assert.deepEqual(after, seen.first)
    assert.equal(seen.first.restarts, 0)
    assert.ok(seen.asked > 50, `${seen.asked} requests`)
    assert.deepEqual(seen.failures, [])
  })

  test('at a reload and a hang-up the agent runs on', () => {
    assert.equal(seen.isKeptAtHangUp, true)
  })

  test('the rules outlive it; cleanup removes them, says so, and leaves those of others', () => {
    assert.equal(seen.rulesAfterStop, seen.rulesBeforeStop)
    assert.equal(seen.rulesAfterCleanup, 0)
    assert.match(seen.cleaned, /removed \d+ chains and 3 jumps from the nat table/)
    assert.match(
      seen.cleanedAgain,
      /^this host has no rules, sets, addresses or links of Platnet\nleft: the data directory/,
    )
    assert.equal(seen.foreignKept, true)
  })
})

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** A control group goes when it has no process and no group below it. */
function removeGroup(folder: string): void {
  if (!existsSync(folder)) return
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) removeGroup(path.join(folder, entry.name))
  rmdirSync(folder)
}
