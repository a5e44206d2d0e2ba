import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type CommandNode, describeCommand } from '../../../src/cli/command-tree.ts'
import { completions } from '../../../src/cli/completion/index.ts'
import { buildWholeProgram } from '../../../src/cli/run-cli.ts'
import { skipReason } from '../../helpers/netns.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { Terminal } from '../../helpers/terminal.ts'

const launcher = join(import.meta.dirname, '../../../scripts/platnet')
const escapeKey = '\u001b'

/** A folder with a control socket `agent.sock` on which an agent tells its status. */
async function serveStatus(t: TestContext): Promise<string> {
  const socket = join(makeTemporaryFolder(t), 'agent.sock')
  const components = { dns: { level: 'ok', message: 'all names', sinceMs: 1000 } }
  const applied = { revision: 3, planes: {}, failing: [] }
  const status = { kind: 'AgentStatus', nodeName: 'n1', components, applied, proxy: [], problems: [] }
  const server = createServer((_, response) => response.end(JSON.stringify(status)))
  await new Promise<void>((resolve) => server.listen(socket, resolve))
  t.after(() => server.close())
  return socket
}

test('levels have colours on a terminal, and none in a pipe, on a dumb terminal or with NO_COLOR', {
  skip: skipReason('script'),
  timeout: 30_000,
}, async (t) => {
  const status = `${launcher} status --control-socket ${await serveStatus(t)}`
  const shownBy = async (command: string, env: Readonly<Record<string, string>> = {}) => {
    await using terminal = new Terminal(command, env)
    await terminal.end()
    assert.match(terminal.shown, /dns: all names/)
    return terminal.shown
  }
  const [coloured, ...plain] = await Promise.all([
    shownBy(status),
    shownBy(`${status} | cat`),
    shownBy(status, { NO_COLOR: '1' }),
    shownBy(status, { TERM: 'dumb' }),
  ])
  assert.match(coloured, new RegExp(`${escapeKey}\\[32mok${escapeKey}\\[0m`))
  for (const shown of plain) assert.ok(!shown.includes(escapeKey), shown)
})

const wholeProgram = async (): Promise<CommandNode> => {
  const silent = { write: () => true }
  return describeCommand(await buildWholeProgram({ env: {}, stdout: silent, stderr: silent, finish: () => {} }))
}

/** How a shell starts without the files of its user, takes the completion from a file, and lists what may come next. */
const shells = {
  bash: { start: 'bash --norc --noprofile -i', load: '. ./completion', list: '\t\t' },
  zsh: { start: 'zsh -f -i', load: 'autoload -Uz compinit; compinit -u -D; . ./completion', list: '\t' },
  fish: { start: 'fish --no-config -i', load: '. ./completion', list: '\t' },
} as const

for (const [name, { start, load, list }] of Object.entries(shells))
  test(`Tab completes commands, options and their values in ${name}`, {
    skip: skipReason('script', name),
    timeout: 60_000,
  }, async (t) => {
    const folder = makeTemporaryFolder(t)
    writeFileSync(join(folder, 'completion'), completions[name as keyof typeof shells](await wholeProgram()))
    // A shell of its own for each line: what ends a list of candidates differs, and fish may not see it while it draws.
    const open = async () => {
      const shell = new Terminal(`cd ${folder} && exec ${start}`, { HOME: folder, PS1: '> ' })
      await shell.type(`${load}; echo rea''dy\r`, /ready/)
      return shell
    }
    await using shell = await open()
    await shell.type('platnet sta\t', /platnet status /)
    await shell.type('--outp\t', /--output /)
    assert.match(await shell.type(list, /json(?:.|\s)*yaml/), /text/)
    await using other = await open()
    await other.type('platnet server bac\t', /backup /)
  })
