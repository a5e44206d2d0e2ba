import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentStatus } from '../../../src/app/composition/agent-status.ts'
import { renderScreen } from '../../../src/cli/status-screen.ts'

const ok = { level: 'ok', message: 'in step', sinceMs: 0 } as const
const degraded = { level: 'degraded', message: 'no upstream answers \u001b[2J', sinceMs: 0 } as const
const rates = '2026-01-01T00:00:00.000Z  0 requests/s, 12 DNS answers/s, 186 MiB'

const status: AgentStatus = {
  kind: 'AgentStatus',
  nodeName: 'n1',
  components: { ...Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`part-${index}`, ok])), dns: degraded },
  applied: {
    revision: 9,
    seen: { services: '1', endpointslices: '1', endpoints: '1' },
    planes: { proxy: 9, dns: 8 },
    failing: [],
  },
  proxy: [],
  problems: Array.from({ length: 30 }, (_, index) => `Service default/s${index}: port 0`),
}

test('A screen shows the rates and what is not well, counts the parts that are well, and fits the terminal.', () => {
  const lines = renderScreen(status, [rates], false, { rows: 12, columns: 60 })
  assert.deepEqual(lines.slice(0, 7), [
    '2026-01-01T00:00:00.000Z  0 requests/s, 12 DNS answers/s,',
    '  186 MiB',
    'node n1, state revision 9',
    '  serves   nothing yet',
    '  ok       40 of 41 parts',
    '  degraded dns: no upstream answers \\u001b[2J',
    '  applied  dns: revision 8',
  ])
  assert.deepEqual([lines.length, lines.at(-1)], [11, '  … and 27 more lines'])
  assert.ok(lines.every((line) => [...line].length <= 60))
})

test('A line wider than the terminal ends with a mark; a terminal that says nothing of itself has 80 columns and 24 lines.', () => {
  const lines = renderScreen({ ...status, problems: ['x'.repeat(200), ...status.problems] }, [rates], false, {})
  assert.equal(lines.length, 23)
  assert.equal(
    lines.find((line) => line.includes('xxx')),
    `  problem  ${'x'.repeat(68)}…`,
  )
})
