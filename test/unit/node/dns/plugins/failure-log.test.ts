import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FailureLog } from '../../../../../src/node/dns/plugins/errors/failure-log.ts'
import type { ConsolidateRule } from '../../../../../src/node/dns/plugins/errors/settings.ts'
import type { ThreadNote } from '../../../../../src/node/dns/threads/messages.ts'
import { queryOf } from '../../../../helpers/upstream-messages.ts'

const query = queryOf('www.example.com.')
const timeout = new Error('192.0.2.9 port 53 did not answer within 2000 ms')
const gatherTimeouts: ConsolidateRule = {
  periodMs: 3_600_000,
  pattern: 'not answer',
  level: 'info',
  showFirst: false,
}

function failureLog(consolidate: readonly ConsolidateRule[]) {
  const notes: ThreadNote[] = []
  return { notes, log: new FailureLog({ stacktrace: false, consolidate }, (note) => notes.push(note)) }
}

describe('errors of a server block', () => {
  test('are told with name, type and reason, ten a second at most', () => {
    const { notes, log } = failureLog([])
    for (let count = 0; count < 100; count += 1) log.failed(query, timeout)
    // The second may change once meanwhile.
    assert.ok(notes.length === 10 || notes.length === 20, `${notes.length} lines`)
    assert.equal(notes[0]?.level, 'warn')
    assert.deepEqual(notes[0]?.fields, { name: 'www.example.com.', type: 'A', error: timeout.message })
  })

  test('that a rule gathers become one line with their number; others are told as ever', () => {
    const { notes, log } = failureLog([gatherTimeouts])
    for (let count = 0; count < 7; count += 1) log.failed(query, timeout)
    log.failed(query, new Error('all is lost'))
    log.close()
    assert.deepEqual(
      notes.map(({ level, fields }) => [level, fields?.['error'] ?? fields?.['count']]),
      [
        ['warn', 'all is lost'],
        ['info', 7],
      ],
    )
    log.close()
    assert.equal(notes.length, 2, 'a period without failures says nothing')
  })

  test('show_first tells the first one at once, and nothing more where it stays alone', () => {
    const { notes, log } = failureLog([{ ...gatherTimeouts, showFirst: true }])
    log.failed(query, timeout)
    assert.equal(notes[0]?.fields?.['error'], timeout.message)
    log.close()
    assert.equal(notes.length, 1)
    log.failed(query, timeout)
    log.failed(query, timeout)
    log.close()
    assert.deepEqual(notes.at(-1)?.fields, { count: 2, like: 'not answer', withinSeconds: 3600 })
  })

  test('are not told without `errors` in the block', () => {
    const notes: ThreadNote[] = []
    new FailureLog(undefined, (note) => notes.push(note)).failed(query, timeout)
    assert.deepEqual(notes, [])
  })
})
