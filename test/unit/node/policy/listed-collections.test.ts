import assert from 'node:assert/strict'
import { describe, mock, test } from 'node:test'
import { ListedCollections } from '../../../../src/node/policy/listed-collections.ts'

function listedOnce(...names: readonly string[]): ListedCollections {
  const lists = new ListedCollections()
  for (const name of names) lists.want(name)
  for (const name of names) lists.listed(name)
  lists.settle()
  return lists
}

describe('the collections that policies need', () => {
  test('are complete once all are listed and it is known that no other is needed', () => {
    const lists = new ListedCollections()
    lists.want('policies')
    lists.want('pods')
    lists.listed('policies')
    lists.settle()
    assert.equal(lists.isComplete, false)
    assert.deepEqual(lists.missing(), ['pods'])
    lists.listed('pods')
    assert.equal(lists.isComplete, false)
    lists.settle()
    assert.equal(lists.isComplete, true)
  })

  test('hold back for two seconds at most when one becomes needed later', (context) => {
    let nowMs = performance.now()
    context.after(() => mock.restoreAll())
    mock.method(performance, 'now', () => nowMs)
    const lists = listedOnce('policies')
    lists.want('pods of all nodes')
    assert.equal(lists.isComplete, false)
    assert.ok((lists.waitMs ?? 0) > 1_900)
    nowMs += 2_001
    assert.equal(lists.isComplete, true)
    assert.equal(lists.waitMs, undefined)
  })

  test('name what the server refuses, until it is listed; what was listed before stays so', () => {
    const lists = listedOnce('policies')
    lists.denied('policies', 'forbidden')
    assert.deepEqual(lists.denials(), [])
    lists.want('pods')
    lists.denied('pods', 'forbidden')
    assert.deepEqual(lists.denials(), ['pods cannot be read: forbidden'])
    assert.equal(lists.isComplete, true)
    lists.listed('pods')
    assert.deepEqual(lists.denials(), [])
  })

  test('tell each change, also that one is not needed any more', () => {
    const lists = listedOnce('policies')
    let changes = 0
    const unsubscribe = lists.onChange(() => {
      changes += 1
    })
    lists.want('pods')
    lists.drop('pods')
    lists.drop('pods')
    assert.equal(changes, 2)
    unsubscribe()
    lists.want('pods')
    assert.equal(changes, 2)
  })
})
