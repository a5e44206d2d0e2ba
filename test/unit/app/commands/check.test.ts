import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkBeforeStart } from '../../../../src/app/commands/check.ts'
import type { ModeChoice } from '../../../../src/app/composition/proxy-mode-choice.ts'
import { type AppContext, createContext } from '../../../../src/app/context.ts'
import { optionGroups } from '../../../../src/app/option-groups.ts'
import { loadOptions } from '../../../../src/config/index.ts'
import { ExecError, type Run } from '../../../../src/host/index.ts'

const isRoot = process.getuid?.() === 0

function contextOf(components: readonly string[]): Promise<AppContext> {
  const flags = { proxyMode: 'auto', components }
  const options = loadOptions(optionGroups, { command: 'agent', flags })
  return createContext(async () => options, {}, { fd: -1, write: () => {} })
}

/** A machine without iptables. */
function machine() {
  const commands: string[] = []
  const run = (async (file: string, args: readonly string[]) => {
    commands.push([file, ...args].join(' '))
    if (/iptables/.test([file, ...args].join(' '))) {
      throw new ExecError('not-found', `${file} is not installed`, { command: file, exitCode: undefined, stderr: '' })
    }
    return { endedBy: 'exit', exitCode: 0, stdout: 'v1.2.3', stderr: '', durationMs: 1 }
  }) as unknown as Run
  return { run, commands }
}

function modesOf(name: 'iptables' | 'nftables') {
  return { choose: async () => ({ name, why: 'auto' }) as ModeChoice }
}

describe('the check before an agent with --proxy-mode auto starts', { skip: isRoot ? false : 'needs root' }, () => {
  test('asks iptables for no rule where nftables is chosen, and bears that there is none', async () => {
    const { run, commands } = machine()
    await checkBeforeStart(await contextOf(['proxy']), run, modesOf('nftables'))
    assert.deepEqual(
      commands.filter((command) => /iptables.*-[st] /.test(command)),
      [],
    )
  })

  test('refuses the start without iptables where that is chosen, or policies need it', async () => {
    await assert.rejects(checkBeforeStart(await contextOf(['proxy']), machine().run, modesOf('iptables')), /iptables/)
    await assert.rejects(
      checkBeforeStart(await contextOf(['proxy', 'policy']), machine().run, modesOf('nftables')),
      /iptables/,
    )
  })
})
