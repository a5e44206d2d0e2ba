import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LiveNodeState } from '../../../../src/node/state/index.ts'
import { readObject } from '../../../../src/node/state/stored-object.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { assertLinear } from '../../../helpers/growth.ts'
import { dialect, wireService, wireSlice } from '../../../helpers/wire-objects.ts'

/** In an order that is not that of their names. */
function slicesOf(count: number) {
  return Array.from({ length: count }, (_, index) =>
    readObject('endpointslices', wireSlice(`s-${(index * 7919) % count}`, 's', '1'), dialect),
  )
}

function stateOf(slices: ReturnType<typeof slicesOf>): LiveNodeState {
  const state = new LiveNodeState(silentLogger)
  state.replace('services', [readObject('services', wireService('s', '1'), dialect)], '1')
  state.replace('endpoints', [], '1')
  state.replace('endpointslices', slices, '1')
  return state
}

test('thousands of slices of one Service are taken in time proportional to their number', () => {
  const slices = new Map([5_000, 20_000].map((count) => [count, slicesOf(count)]))
  assertLinear('slices', 5_000, (count) => {
    assert.equal(stateOf(slices.get(count) ?? []).slicesOf('default/s').length, count)
  })
})

test('slices of a Service stand in the order of their names, whichever come and go', () => {
  const slices = slicesOf(20)
  const state = stateOf(slices)
  const [third] = slices.slice(3)
  assert.ok(third !== undefined)
  state.remove('endpointslices', third.key, '2')
  const names = slices.filter((each) => each !== third).map(({ key }) => `endpointslices/${key}`)
  const sources = () => state.slicesOf('default/s').map(({ source }) => source)
  assert.deepEqual(sources(), names.toSorted())
  state.upsert('endpointslices', third)
  assert.deepEqual(sources(), slices.map(({ key }) => `endpointslices/${key}`).toSorted())
})
