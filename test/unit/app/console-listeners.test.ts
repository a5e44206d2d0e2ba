import assert from 'node:assert/strict'
import { test } from 'node:test'
import { consoleListenersOf } from '../../../src/app/listeners.ts'
import { optionGroups } from '../../../src/app/option-groups.ts'
import { loadOptions } from '../../../src/config/index.ts'

test('The ports of the consoles are checked where they are served, with the options that move them.', () => {
  const listen = (flags: Readonly<Record<string, unknown>>) =>
    consoleListenersOf(loadOptions(optionGroups, { command: 'run', flags, env: {} })).map(
      ({ address, port, option }) => `${address}:${port} ${option}`,
    )
  assert.deepEqual(listen({}), ['127.0.0.1:10251 --console-port', '127.0.0.1:10252 --server-console-port'])
  assert.deepEqual(listen({ consolePort: '9001' })[0], '127.0.0.1:9001 --console-port')
  assert.deepEqual(listen({ console: 'false' }), [])
})
