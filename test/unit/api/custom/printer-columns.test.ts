import assert from 'node:assert/strict'
import { test } from 'node:test'
import { printerColumns } from '../../../../src/api/custom/printer-columns.ts'
import type { Json } from '../../../../src/model/api-object.ts'

const now = new Date('2026-06-01T12:00:00Z')

/** The cells of kube-apiserver 1.34. */
const rows: readonly [value: Json | undefined, cell: Json][] = [
  [undefined, null],
  [null, null],
  [5, null],
  ['', '<unknown>'],
  ['soon', '<invalid>'],
  ['2026-06-02', '<invalid>'],
  ['2026-06-02T12:00:00Z', '<invalid>'],
  ['2026-06-01T12:00:01Z', '0s'],
  ['2026-06-01T11:00:00Z', '60m'],
]

for (const [value, cell] of rows) {
  test(`a date column shows ${JSON.stringify(value)} as ${JSON.stringify(cell)}`, () => {
    const [column] = printerColumns([{ name: 'When', type: 'date', jsonPath: '.spec.when' }])
    const spec = value === undefined ? {} : { when: value }
    const document = { kind: 'Widget', apiVersion: 'example.com/v1', metadata: { name: 'w' }, spec }
    assert.equal(column?.cell(document, now), cell)
  })
}
