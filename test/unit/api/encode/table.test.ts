import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRegistry } from '../../../../src/api/create-registry.ts'
import { tableEventObject } from '../../../../src/api/encode/answer.ts'
import { typeMetaOf } from '../../../../src/api/encode/partial-metadata.ts'
import { openMemoryStore } from '../../../../src/api/store/index.ts'
import { createDialect } from '../../../../src/model/dialect.ts'
import { silentLogger } from '../../../../src/observe/index.ts'

const view = { kind: 'table', apiVersion: 'meta.k8s.io/v1', rows: 'metadata' } as const

test('the object of a bookmark, which has metadata alone, is a row of each kind', () => {
  for (const name of ['kubernetes', 'platform'] as const) {
    const registry = createRegistry({
      store: openMemoryStore({ log: silentLogger }),
      dialect: createDialect(name),
      nodePortRange: { first: 30000, last: 32767 },
      admitsAccounts: true,
      addsTolerations: true,
      sweepsNamespaces: true,
      now: () => new Date(0),
      newUid: () => 'uid',
    })
    const metadata = { resourceVersion: '7', annotations: { 'k8s.io/initial-events-end': 'true' } }
    for (const resource of registry.all()) {
      const document = { ...typeMetaOf(resource, view), metadata }
      const options = { now: new Date(0), hasColumns: true, view, isBookmark: true } as const
      const { columnDefinitions, rows } = JSON.parse(JSON.stringify(tableEventObject(resource, document, options)))
      assert.equal(rows.length, 1, resource.plural)
      assert.equal(rows[0].cells.length, columnDefinitions.length, resource.plural)
      assert.deepEqual(rows[0].object.metadata, metadata, resource.plural)
    }
  }
})
