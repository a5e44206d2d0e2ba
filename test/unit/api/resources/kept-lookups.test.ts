import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readServiceRanges } from '../../../../src/api/allocation/service-ranges.ts'
import { findDefaultClass } from '../../../../src/api/resources/priority-lookup.ts'
import { openMemoryStore } from '../../../../src/api/store/index.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { put, remove } from '../../../helpers/store-contract.ts'

test('The default PriorityClass is the one of now, however often it was looked for before.', async () => {
  const store = openMemoryStore({ log: silentLogger })
  const key = '/registry/priorityclasses/high'
  const priorityClass = (value: number) =>
    JSON.stringify({ metadata: { name: 'high' }, value, globalDefault: value > 0 })
  assert.equal(await findDefaultClass(store), undefined)
  await store.commit([put(key, priorityClass(7))])
  assert.equal((await findDefaultClass(store))?.value, 7)
  await store.commit([put('/registry/pods/a/web', '{}')])
  assert.equal((await findDefaultClass(store))?.value, 7)
  await store.commit([put(key, priorityClass(8), 2)])
  assert.equal((await findDefaultClass(store))?.value, 8)
  await store.commit([remove(key, 4)])
  await store.compact(5)
  assert.equal(await findDefaultClass(store), undefined)
  await store.close()
})

test('The ranges of Services are those of the ServiceCIDRs of now.', async () => {
  const store = openMemoryStore({ log: silentLogger })
  const key = '/registry/servicecidrs/default'
  const ready = { conditions: [{ type: 'Ready', status: 'True' }] }
  const serviceCidr = (...cidrs: readonly string[]) =>
    JSON.stringify({ metadata: { name: 'default' }, spec: { cidrs }, status: ready })
  assert.deepEqual(await readServiceRanges(store), [])
  await store.commit([put(key, serviceCidr('10.96.0.0/16'))])
  assert.deepEqual(await readServiceRanges(store), ['10.96.0.0/16'])
  await store.commit([put(key, serviceCidr('10.96.0.0/16', 'fd00::/108'), 2)])
  assert.deepEqual(await readServiceRanges(store), ['10.96.0.0/16', 'fd00::/108'])
  await store.close()
})
