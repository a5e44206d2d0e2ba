import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { ExecError, runProgram } from '../../src/host/index.ts'

const checkout = resolve(import.meta.dirname, '../..')
const unit = readFileSync(join(checkout, 'systemd/platnet.service'), 'utf8')

/** What systemd-analyze has to say about a unit text, program paths pointed to this checkout. */
async function verify(text: string): Promise<{ exitCode: number | undefined; said: string }> {
  const directory = mkdtempSync(join(tmpdir(), 'platnet-unit-'))
  try {
    const file = join(directory, 'platnet.service')
    writeFileSync(file, text.replaceAll('/usr/lib/platnet', checkout))
    const args = ['verify', '--man=no', '--recursive-errors=no', file]
    const { stdout, stderr } = await runProgram('systemd-analyze', args, { timeoutMs: 20_000 })
    return { exitCode: 0, said: stdout + stderr }
  } catch (thrown) {
    if (!(thrown instanceof ExecError) || thrown.code !== 'failed') throw thrown
    return { exitCode: thrown.exitCode, said: thrown.stderr }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const hasTool = await runProgram('systemd-analyze', ['--version'], { timeoutMs: 20_000 }).then(
  () => true,
  () => false,
)
const skip = hasTool ? false : 'systemd-analyze is not installed'

test('systemd-analyze finds nothing to say about the unit', { skip }, async () => {
  assert.deepEqual(await verify(unit), { exitCode: 0, said: '' })
})

test('systemd-analyze does find a wrong line, so its silence means something', { skip }, async () => {
  const { said } = await verify(unit.replace('Delegate=yes', 'Delegated=yes'))
  assert.match(said, /Delegated/)
})

test('the unit keeps to what a node needs: readiness is notified, pods outlive a restart, no mount namespace', () => {
  for (const line of ['Type=notify', 'KillMode=process', 'Delegate=yes', 'Restart=always']) {
    assert.match(unit, new RegExp(`^${line}$`, 'm'))
  }
  const harmful =
    /^(MemoryDenyWriteExecute|ProtectKernelTunables|ProtectKernelModules|ProtectSystem|ProtectHome|Private\w+)=/m
  assert.doesNotMatch(unit, harmful)
})
