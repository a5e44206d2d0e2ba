import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type OutputFormat, printAnswer, withProgress } from '../../../src/cli/output.ts'
import { runCli } from '../../../src/cli/run-cli.ts'

function printed(
  output: OutputFormat,
  { isTTY = false, env = {} }: { isTTY?: boolean; env?: Record<string, string> } = {},
) {
  const out: string[] = []
  const stdout = { write: (text: string) => out.push(text), isTTY }
  const context = { env, stdout, stderr: stdout, finish: () => {} }
  const shared = { name: 'a\u001b[31m' }
  const render = (_: unknown, isWide: boolean) =>
    `  ok       part${isWide ? ' and more' : ''}\n  degraded other\nfail  x\n`
  printAnswer(context, output, { one: shared, two: shared }, render)
  return out.join('')
}

test('An answer is text, wide text, JSON or YAML, without control characters of the data.', () => {
  assert.equal(printed('text'), '  ok       part\n  degraded other\nfail  x\n')
  assert.match(printed('wide'), /part and more/)
  assert.deepEqual(JSON.parse(printed('json')), { one: { name: 'a\u001b[31m' }, two: { name: 'a\u001b[31m' } })
  const yaml = printed('yaml')
  assert.match(yaml, /^one:\n {2}name: .*\ntwo:\n {2}name: /)
  for (const format of ['json', 'yaml'] as const) assert.ok(!printed(format).includes('\u001b'))
})

test('Levels have colours on a terminal alone, and none with NO_COLOR or a dumb terminal.', () => {
  assert.equal(
    printed('text', { isTTY: true }),
    '  \u001b[32mok\u001b[0m       part\n  \u001b[33mdegraded\u001b[0m other\n\u001b[31mfail\u001b[0m  x\n',
  )
  for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }])
    assert.ok(!printed('text', { isTTY: true, env }).includes('\u001b'))
  assert.ok(!printed('json', { isTTY: true }).includes('\u001b'))
})

test('Work over a second shows on a terminal what it waits for, and removes that at its end.', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const err: string[] = []
  const show = (isTTY: boolean) => {
    const { promise, resolve } = Promise.withResolvers<number>()
    const stderr = { write: (text: string) => err.push(text), isTTY }
    return { done: withProgress({ env: {}, stdout: stderr, stderr, finish: () => {} }, 'asking', promise), resolve }
  }
  const seen = show(true)
  t.mock.timers.tick(999)
  assert.deepEqual(err, [])
  t.mock.timers.tick(1)
  assert.match(err.join(), /^\rasking … \d+ s$/)
  seen.resolve(7)
  assert.equal(await seen.done, 7)
  assert.equal(err.at(-1), '\r\u001b[K')
  const unseen = show(false)
  t.mock.timers.tick(5000)
  unseen.resolve(1)
  await unseen.done
  assert.equal(err.length, 2)
})

const reading = [
  ['version'],
  ['check'],
  ['status'],
  ['plan'],
  ['explain'],
  ['dns', 'query'],
  ['policy', 'matrix'],
  ['policy', 'test'],
  ['cni', 'list'],
  ['cni', 'doctor'],
  ['config', 'print'],
  ['console'],
]

for (const command of reading) {
  test(`platnet ${command.join(' ')} takes -o text, wide, json and yaml, and no other format.`, async () => {
    const out: string[] = []
    const stdout = { write: (text: string) => out.push(text), columns: 200 }
    const run = (...args: string[]) =>
      runCli(['node', 'platnet', ...command, ...args], { env: {}, stdout, stderr: stdout })
    await run('--help')
    assert.match(out.join(''), /-o, --output <format> .*\(choices: "text", "wide", "json", "yaml", default: "text"\)/)
    assert.equal(await run('-o', 'xml'), 2)
  })
}

test('A version is the same data in JSON and YAML.', async () => {
  const out: string[] = []
  const stdout = { write: (text: string) => out.push(text) }
  for (const format of ['json', 'yaml'])
    await runCli(['node', 'platnet', 'version', '-o', format], { env: {}, stdout, stderr: stdout })
  const { nodeVersion } = JSON.parse(out[0] ?? '')
  assert.equal(nodeVersion, process.version)
  assert.match(out[1] ?? '', new RegExp(`^nodeVersion: ${nodeVersion}$`, 'm'))
})
