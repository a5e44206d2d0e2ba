import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CommandNode } from '../../../src/cli/command-tree.ts'
import { completions } from '../../../src/cli/completion/index.ts'
import { buildWholeProgram, runCli } from '../../../src/cli/run-cli.ts'

const leaf = { options: [], arguments: [], children: [] }
const tree: CommandNode = {
  ...leaf,
  path: [],
  description: 'all of it',
  children: [
    {
      ...leaf,
      path: ['show'],
      description: "the cluster's state: short",
      options: [
        { short: '-o', long: '--output', value: '<format>', choices: ['text', 'json'], description: 'the form' },
        { short: undefined, long: '--config', value: '<file>', choices: [], description: 'options' },
      ],
    },
  ],
}

const silent = { write: () => true }
const context = { env: {}, stdout: silent, stderr: silent, finish: () => {} }

test('each shell gets every command, option and choice, and descriptions that cannot end their quotes', () => {
  const bash = completions.bash(tree)
  assert.match(bash, /' show'\) words='-o --output --config' ;;/)
  assert.match(bash, /' show\|-o' \| ' show\|--output'\) mapfile .* -W 'text json'/)
  assert.match(bash, /' show\|--config'\) mapfile .*compgen -f/)
  const zsh = completions.zsh(tree)
  assert.match(zsh, /commands=\('show:the cluster'\\''s state: short'\)/)
  assert.match(zsh, /'show\|-o' \| 'show\|--output'\) compadd -- 'text' 'json'; return ;;/)
  const fish = completions.fish(tree)
  assert.match(fish, /-a 'show' -d 'the cluster\\'s state: short'$/m)
  assert.match(fish, /-s o -l output -x -a 'text json' -d 'the form'$/m)
  assert.match(fish, /-l config -r -F -d 'options'$/m)
})

test('platnet completion prints the script of the whole program', async () => {
  const names = (await buildWholeProgram(context)).commands.map((command) => command.name())
  const out: string[] = []
  const code = await runCli(['node', 'platnet', 'completion', 'bash'], {
    ...context,
    stdout: { write: (text: string) => out.push(text) },
  })
  assert.equal(code, 0)
  for (const name of names) assert.ok(out.join('').includes(`' ${name}') words=`), name)
})
