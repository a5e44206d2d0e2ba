import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import {
  ConfigError,
  declareOptions,
  loadOptions,
  type OptionSources,
  parseConfigFile,
  portNumber,
  wordList,
} from '../../../src/config/index.ts'

const groups = {
  node: declareOptions({
    port: {
      schema: portNumber,
      flag: '--port <port>',
      env: 'PORT',
      default: 10250,
      reload: 'restart',
      commands: ['agent'],
      description: 'The port',
    },
    token: {
      schema: z.string().min(8, { error: 'expected at least 8 characters' }).optional(),
      flag: '--token <text>',
      reload: 'live',
      secret: true,
      description: 'The token',
    },
  }),
  app: declareOptions({
    config: {
      schema: z.string().optional(),
      flag: '--config <file>',
      notInFile: true,
      reload: 'restart',
      description: 'The file',
    },
    components: {
      schema: wordList(['api', 'proxy']),
      flag: '--components <list>',
      default: ['api', 'proxy'],
      reload: 'restart',
      description: 'The parts',
    },
  }),
}

function load({ yaml, ...sources }: OptionSources & { readonly yaml?: string }) {
  return loadOptions(groups, yaml === undefined ? sources : { ...sources, file: parseConfigFile('p.yaml', yaml) })
}

function problemsOf(sources: Parameters<typeof load>[0]): readonly string[] {
  try {
    load(sources)
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return assert.fail('expected problems')
}

test('A list may be text with commas or a YAML list, and words given twice count once.', () => {
  assert.deepEqual(load({ flags: { components: 'proxy, api,proxy' } }).values.app.components, ['proxy', 'api'])
  assert.deepEqual(load({ yaml: 'components: [proxy]' }).values.app.components, ['proxy'])
})

test('An empty file, an empty variable and a flag that was not given say nothing.', () => {
  const { resolved, values } = load({ yaml: '# nothing\n', env: { PORT: '' }, flags: { port: undefined } })
  assert.equal(values.node.port, 10250)
  assert.deepEqual(new Set(resolved.map(({ source }) => source)), new Set(['default']))
})

test('Every problem of every source is named at once, with where, key, expected and got.', () => {
  const yaml = 'port: 70000\ncomponents: [api, dns]\n'
  assert.deepEqual(problemsOf({ yaml, env: { PORT: 'x' }, flags: { port: '0', token: 'short' } }), [
    'p.yaml:1: port: expected a port from 1 to 65535, got 70000',
    'the variable PORT: expected a port from 1 to 65535, got "x"',
    '--port: expected a port from 1 to 65535, got "0"',
    '--token: expected at least 8 characters, got [redacted]',
    'p.yaml:2: components: expected a list of: api, proxy, got ["api","dns"]',
  ])
})

const badFiles: readonly (readonly [yaml: string, problem: RegExp])[] = [
  ['prot: 1', /^p\.yaml:1: prot: no such option; did you mean port\?$/],
  ['\nCOMPONENT: api', /^p\.yaml:2: COMPONENT: no such option; did you mean components\?$/],
  ['something: 1', /^p\.yaml:1: something: no such option; the options are port, token, components$/],
  ['__proto__: {a: 1}', /^p\.yaml:1: __proto__: no such option/],
  ['config: other.yaml', /^p\.yaml:1: config: .*cannot stand in the file/],
  ['port: 1\nport: 2', /^p\.yaml:2: .*unique/],
  ['- port', /^p\.yaml: expected a mapping/],
  ['port: [', /^p\.yaml:1: /],
  ['port:', /^p\.yaml:1: port: expected a port from 1 to 65535, got null$/],
  ['port: 1.5', /^p\.yaml:1: port: expected a port/],
  ['port: {a: 1}', /^p\.yaml:1: port: expected a port from 1 to 65535, got \{"a":1\}$/],
  ['port: &a {x: *a}', /^p\.yaml:1: port: expected a port from 1 to 65535, got something that is not plain data$/],
  ['components: &a [*a]', /^p\.yaml:1: components: expected a list of: api, proxy, got something/],
  ['port: !unknown x', /^p\.yaml:1: port: expected a port/],
  ['? {a: 1}\n: 2', /^p\.yaml:1: \(not a name\): no such option/],
]

for (const [yaml, problem] of badFiles) {
  test(`A file that says ${JSON.stringify(yaml)} is refused with one message.`, () => {
    const problems = problemsOf({ yaml })
    assert.equal(problems.length, 1, problems.join('\n'))
    assert.match(problems[0] ?? '', problem)
  })
}

test('A file that unfolds to something huge is refused.', () => {
  const steps = Array.from({ length: 12 }, (_, at) => `  - &a${at + 1} [${`*a${at},`.repeat(9)}]`)
  const [problem = ''] = problemsOf({ yaml: `components:\n  - &a0 [x]\n${steps.join('\n')}\n` })
  assert.match(problem, /^p\.yaml:1: components: .*alias/)
})

test('A command does not look at variables of options it does not take, and does not list them.', () => {
  const { resolved, values } = load({ command: 'server', env: { PORT: 'x' } })
  assert.equal(values.node.port, 10250)
  assert.deepEqual(
    resolved.map(({ key }) => key),
    ['token', 'config', 'components'],
  )
})

test('One file serves all commands, and is checked whole by each.', () => {
  assert.equal(load({ command: 'server', yaml: 'port: 99' }).values.node.port, 99)
  assert.match(problemsOf({ command: 'server', yaml: 'port: x' })[0] ?? '', /^p\.yaml:1: port: expected/)
})
