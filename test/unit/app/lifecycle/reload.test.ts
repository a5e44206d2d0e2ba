import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changedOptions } from '../../../../src/app/lifecycle/reload.ts'
import { optionGroups } from '../../../../src/app/option-groups.ts'
import { loadOptions } from '../../../../src/config/index.ts'

const load = (flags: Record<string, string>) => loadOptions(optionGroups, { command: 'run', flags })

test('an option that holds at the next start is named when it changed, one that holds at once is not', () => {
  const before = load({ port: '10250', logLevel: 'info' })
  assert.deepEqual(changedOptions(before, load({ port: '10251', logLevel: 'debug' })), ['port'])
  assert.deepEqual(changedOptions(before, load({ port: '10250', logLevel: 'debug' })), [])
})
