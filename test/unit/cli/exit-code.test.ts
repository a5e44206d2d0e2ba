import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AskError } from '../../../src/app/commands/ask-agent.ts'
import { exitCodeOf, exitCodes, renderError } from '../../../src/cli/exit-code.ts'
import { ConfigError } from '../../../src/config/index.ts'
import { PlatnetError } from '../../../src/model/errors.ts'

const refused = Object.assign(new Error('bind EACCES 0.0.0.0:443'), { code: 'EACCES' })
const failed = new PlatnetError('listen-failed', 'api cannot listen', {
  object: '0.0.0.0:443',
  remedy: 'run as root',
  cause: refused,
})

test('The exit code follows from the error: usage, privilege anywhere among the causes, failure.', () => {
  assert.equal(exitCodeOf(new ConfigError('config-invalid', ['x'])), 2)
  assert.equal(exitCodeOf(failed), 4)
  assert.equal(exitCodeOf(new PlatnetError('start-failed', 'no', { cause: failed })), 4)
  assert.equal(exitCodeOf(new Error('no')), 1)
  assert.equal(exitCodeOf('thrown text'), 1)
})

test('An error says what failed, on what and what to do, without secrets and without a stack.', () => {
  assert.equal(
    renderError(failed, { debug: false }),
    'error: api cannot listen: bind EACCES 0.0.0.0:443\n  on: 0.0.0.0:443\n  what to do: run as root\n',
  )
  assert.equal(renderError(new Error('GET /?token=abcdef'), { debug: false }), 'error: GET /?token=[redacted]\n')
})

test('What a terminal would obey is shown as text.', () => {
  const error = new ConfigError('config-invalid', ['p.yaml:1: \u001b[2Jx\u009b: no such option', 'p.yaml:2: y'])
  assert.equal(
    renderError(error, { debug: false }),
    'error: p.yaml:1: \\u001b[2Jx\\u009b: no such option\nerror: p.yaml:2: y\n',
  )
})

test('An error that wraps another one shows the inner remedy, because the outer has none.', () => {
  const inner = new PlatnetError('in-use', 'made in another dialect', { remedy: 'start with --dialect platform' })
  const outer = new PlatnetError('in-use', 'server did not start', { object: 'server', cause: inner })
  assert.match(renderError(outer, { debug: false }), /on: server\n {2}what to do: start with --dialect platform\n$/)
})

test('An agent that does not answer counts as unhealthy, as for any service that does not run.', () => {
  assert.equal(exitCodeOf(new AskError('agent-away', 'no agent answers')), exitCodes.unhealthy)
})
