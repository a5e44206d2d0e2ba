import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pods } from '../../../../src/api/resources/pods.ts'
import { SharedEvent } from '../../../../src/api/watch/shared-event.ts'
import { createDialect } from '../../../../src/model/dialect.ts'

const value = (app: string) =>
  JSON.stringify({ kind: 'Pod', apiVersion: 'v1', metadata: { name: 'p', labels: { app } }, note: '"metadata":{' })
const entry = (app: string, revision: number) => ({ key: 'k', value: value(app), createRevision: 1, revision })

test('an event is written as bytes once for each type, with its revision', () => {
  const event = new SharedEvent(pods(createDialect('kubernetes')), {
    kind: 'put',
    entry: entry('new', 7),
    previous: entry('old', 5),
  })
  assert.equal(event.lineFor('MODIFIED'), event.lineFor('MODIFIED'))
  const line = JSON.parse(event.lineFor('MODIFIED').toString())
  assert.equal(line.type, 'MODIFIED')
  assert.deepEqual(line.object.metadata, { resourceVersion: '7', name: 'p', labels: { app: 'new' } })
  assert.equal(line.object.note, '"metadata":{')
  const gone = JSON.parse(event.lineFor('DELETED').toString())
  assert.deepEqual(gone.object.metadata, { resourceVersion: '7', name: 'p', labels: { app: 'old' } })
})

test('what a watcher sees depends on whether the object matches now and matched before', () => {
  const selecting = (app: string) => ({
    isEverything: false,
    name: undefined,
    selectedValue: undefined,
    matches: (document: { metadata: { labels?: Readonly<Record<string, string>> } }) =>
      document.metadata.labels?.['app'] === app,
  })
  const changed = new SharedEvent(pods(createDialect('kubernetes')), {
    kind: 'put',
    entry: entry('new', 7),
    previous: entry('old', 5),
  })
  assert.equal(changed.typeFor(selecting('new')), 'ADDED')
  assert.equal(changed.typeFor(selecting('old')), 'DELETED')
  assert.equal(changed.typeFor(selecting('other')), undefined)
  const same = new SharedEvent(pods(createDialect('kubernetes')), {
    kind: 'put',
    entry: entry('new', 7),
    previous: entry('new', 5),
  })
  assert.equal(same.typeFor(selecting('new')), 'MODIFIED')
  const deleted = new SharedEvent(pods(createDialect('kubernetes')), {
    kind: 'delete',
    key: 'k',
    revision: 9,
    previous: entry('old', 5),
  })
  assert.equal(deleted.typeFor(selecting('old')), 'DELETED')
  assert.equal(deleted.typeFor(selecting('new')), undefined)
})
