import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, test } from 'node:test'
import { ExecError, runProgram } from '../../src/host/index.ts'

const checkout = resolve(import.meta.dirname, '../..')
const names = ['platnet', 'platnet-server', 'platnet-agent'] as const
const units = new Map(names.map((name) => [name, readFileSync(join(checkout, `systemd/${name}.service`), 'utf8')]))
const unitOf = (name: (typeof names)[number]): string => units.get(name) ?? ''

/** Runs systemd-analyze on a unit text, program paths pointed to this checkout. */
async function analyze(verb: readonly string[], text: string): Promise<{ exitCode: number | undefined; said: string }> {
  const directory = mkdtempSync(join(tmpdir(), 'platnet-unit-'))
  try {
    const file = join(directory, 'platnet.service')
    writeFileSync(file, text.replaceAll('/usr/lib/platnet', checkout).replaceAll(/^Conflicts=.*\n/gm, ''))
    const { stdout, stderr } = await runProgram('systemd-analyze', [...verb, file], { timeoutMs: 20_000 })
    return { exitCode: 0, said: stdout + stderr }
  } catch (thrown) {
    if (!(thrown instanceof ExecError) || thrown.code !== 'failed') throw thrown
    return { exitCode: thrown.exitCode, said: thrown.stderr }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const verify = (text: string) => analyze(['verify', '--man=no', '--recursive-errors=no'], text)

/** The exposure level of systemd-analyze in tenths: the unit fails above it. */
const security = (text: string, threshold: number) =>
  analyze(['security', '--no-pager', '--offline=true', `--threshold=${threshold}`], text)

const hasTool = await runProgram('systemd-analyze', ['--version'], { timeoutMs: 20_000 }).then(
  () => true,
  () => false,
)
const skip = hasTool ? false : 'systemd-analyze is not installed'

for (const name of names) {
  test(`systemd-analyze finds nothing to say about ${name}.service`, { skip }, async () => {
    assert.deepEqual(await verify(unitOf(name)), { exitCode: 0, said: '' })
  })
}

test('systemd-analyze does find a wrong line, so its silence means something', { skip }, async () => {
  const { said } = await verify(unitOf('platnet').replace('Delegate=yes', 'Delegated=yes'))
  assert.match(said, /Delegated/)
})

test('the exposure of the server is at most 2.5 of 10, that of the agent at most 7', { skip }, async () => {
  assert.equal((await security(unitOf('platnet-server'), 25)).exitCode, 0)
  for (const name of ['platnet', 'platnet-agent'] as const) assert.equal((await security(unitOf(name), 70)).exitCode, 0)
  const open = unitOf('platnet-server').replaceAll(/^(Protect|Restrict|SystemCall|Capability).*\n/gm, '')
  assert.notEqual((await security(open, 25)).exitCode, 0, 'a unit without its limits is refused')
})

describe('the units', () => {
  for (const name of ['platnet', 'platnet-agent'] as const) {
    test(`${name} keeps to what a node needs: pods outlive a restart, no mount namespace`, () => {
      for (const line of ['Type=notify', 'KillMode=process', 'Delegate=yes', 'Restart=always'])
        assert.match(unitOf(name), new RegExp(`^${line}$`, 'm'))
      const harmful =
        /^(MemoryDenyWriteExecute|ProtectKernelTunables|ProtectKernelModules|ProtectSystem|ProtectHome|Private\w+)=/m
      assert.doesNotMatch(unitOf(name), harmful)
    })
  }

  test('the agent has the limits that the all-in-one unit has', () => {
    const limitsOf = (text: string) => text.slice(text.indexOf('# What a network agent can live with'))
    assert.equal(limitsOf(unitOf('platnet-agent')), limitsOf(unitOf('platnet')))
  })

  test('each starts its own command with the flags of its own environment file', () => {
    for (const [name, command] of [
      ['platnet', 'run'],
      ['platnet-server', 'server'],
      ['platnet-agent', 'agent'],
    ] as const) {
      assert.match(unitOf(name), new RegExp(`^EnvironmentFile=-/etc/default/${name}$`, 'm'))
      assert.match(unitOf(name), new RegExp(`^ExecStart=\\S+/platnet ${command} \\$PLATNET_OPTIONS$`, 'm'))
    }
  })
})
