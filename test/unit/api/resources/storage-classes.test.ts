import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { storageClasses } from '../../../../src/api/resources/volumes/storage-classes.ts'
import { createDialect } from '../../../../src/model/dialect.ts'

const { validate } = storageClasses(createDialect('kubernetes')).strategy
const metadata = { name: 'c' }
const classOf = (terms: readonly object[]) =>
  ({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata,
    provisioner: 'disk.example.com',
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'Immediate',
    allowedTopologies: terms,
  }) as unknown as Parameters<NonNullable<typeof validate>>[0]
const termOf = (key: string, values: readonly string[]) => ({ matchLabelExpressions: [{ key, values }] })
const errorsOf = (terms: readonly object[]) => (validate?.(classOf(terms), undefined) ?? []).map(({ field }) => field)

describe('the topologies of a StorageClass', () => {
  test('repeat neither a term nor a value, in whatever order they stand', () => {
    assert.deepEqual(errorsOf([termOf('a', ['x', 'y']), termOf('a', ['x'])]), [])
    assert.deepEqual(errorsOf([termOf('a', ['x', 'y']), termOf('a', ['y', 'x'])]), [
      'allowedTopologies[1].matchLabelExpressions',
    ])
    assert.deepEqual(errorsOf([{}]), ['allowedTopologies[0].matchLabelExpressions'])
    assert.deepEqual(errorsOf([termOf('a', ['x', 'y', 'x'])]), [
      'allowedTopologies[0].matchLabelExpressions[0].values[2]',
    ])
  })

  test('are checked in a time that grows with their number, not with its square', () => {
    const values = Array.from({ length: 200_000 }, (_, index) => `v${index}`)
    const terms = values.slice(0, 20_000).map((value) => termOf('a', [value]))
    const { user } = process.cpuUsage()
    assert.deepEqual(errorsOf([termOf('b', values), ...terms]), [])
    const usedMs = (process.cpuUsage().user - user) / 1000
    assert.ok(usedMs < 5_000, `${usedMs} ms`)
  })
})
