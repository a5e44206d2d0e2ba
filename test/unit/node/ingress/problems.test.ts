import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReportedProblems } from '../../../../src/node/ingress/problems.ts'

const conflict = { reason: 'RouteConflict', message: 'an older Ingress has it' } as const

test('A problem is reported once while it lasts, and kept for its Event until this node is the one that writes it', () => {
  const reported: string[] = []
  const problems = new ReportedProblems((ingress, { reason }) => reported.push(`${ingress} ${reason}`))
  const found = new Map([['default/web', [conflict]]])
  problems.replace(found, [])
  problems.replace(found, [])
  assert.deepEqual(reported, ['default/web RouteConflict'])
  assert.deepEqual(problems.takeUnrecorded(), [['default/web', conflict]])
  assert.deepEqual(problems.takeUnrecorded(), [])
  problems.replace(found, [{ kind: 'Ingress', key: 'default/web', reason: 'no such thing' }])
  assert.deepEqual(problems.takeUnrecorded(), [['default/web', { reason: 'RefusedByProxy', message: 'no such thing' }]])
  problems.replace(new Map(), [])
  assert.deepEqual(problems.takeUnrecorded(), [])
  problems.replace(found, [])
  assert.deepEqual(reported.length, 3)
  assert.deepEqual(problems.takeUnrecorded(), [['default/web', conflict]])
})
