import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareVersions } from '../../../../src/api/discovery/groups.ts'

test('versions stand in the order of preference: stable, beta, alpha, others, and newer first', () => {
  const order = ['v10', 'v2', 'v1', 'v2beta1', 'v1beta2', 'v1beta1', 'v1alpha1', 'bar', 'foo']
  assert.deepEqual(order.toReversed().toSorted(compareVersions), order)
})
