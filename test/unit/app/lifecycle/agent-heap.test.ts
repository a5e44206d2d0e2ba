import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { agentFlags } from '../../../../src/app/lifecycle/agent-heap.ts'

test('an agent has the flags of the launcher, whether that or a supervisor starts it', () => {
  const launcher = readFileSync(new URL('../../../../scripts/platnet', import.meta.url), 'utf8')
  const flagsOf = (commands: string) =>
    launcher
      .split('\n')
      .find((line) => line.trim().startsWith(`${commands}) set -- `))
      ?.match(/--\S+/g) ?? []
  const ofRun = flagsOf('server | run')
  assert.deepEqual(agentFlags(['--expose-gc', '--title=x']), ['--expose-gc', '--title=x'])
  assert.deepEqual(agentFlags(ofRun), flagsOf('agent'))
  assert.notDeepEqual(ofRun, flagsOf('agent'))
})
