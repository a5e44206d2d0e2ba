import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { withCondition } from '../../../../src/controllers/objects/conditions.ts'
import { conditionSchema } from '../../../../src/controllers/objects/parts.ts'

describe('conditions of an object', () => {
  test('one that a client wrote without a time is written back without one, as the API takes it', () => {
    const foreign = conditionSchema.parse({ type: 'StatusPatched', status: 'True' })
    const change = { type: 'Available', status: 'True', reason: 'Ready', message: '' } as const
    const [kept, added] = withCondition([foreign], change, 0)
    assert.equal(kept?.lastTransitionTime, null)
    assert.equal(added?.lastTransitionTime, '1970-01-01T00:00:00Z')
  })
})
