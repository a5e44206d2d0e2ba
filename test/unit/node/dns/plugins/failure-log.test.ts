import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FailureLog, type FailureLogger } from '../../../../../src/node/dns/plugins/errors/failure-log.ts'
import type { ConsolidateRule } from '../../../../../src/node/dns/plugins/errors/settings.ts'
import type { ThreadLogRecord } from '../../../../../src/node/dns/threads/messages.ts'
import type { LogFields } from '../../../../../src/observe/logger.ts'
import { queryOf } from '../../../../helpers/upstream-messages.ts'

const query = queryOf('www.example.com.')
const timeout = new Error('192.0.2.9 port 53 did not answer within 2000 ms')
const gatherTimeouts: ConsolidateRule = {
  periodMs: 3_600_000,
  pattern: 'not answer',
  level: 'info',
  showFirst: false,
}

function recorder(records: ThreadLogRecord[]): FailureLogger {
  const record =
    (level: ThreadLogRecord['level']) =>
    (message: string, fields: LogFields = {}) =>
      void records.push({ part: 'resolver', level, message, fields })
  return { error: record('error'), warn: record('warn'), info: record('info'), debug: record('debug') }
}

function failureLog(consolidate: readonly ConsolidateRule[]) {
  const records: ThreadLogRecord[] = []
  return { records, log: new FailureLog({ stacktrace: false, consolidate }, recorder(records)) }
}

describe('errors of a server block', () => {
  test('are logged with name, type and reason, at most ten a second', () => {
    const { records, log } = failureLog([])
    for (let count = 0; count < 100; count += 1) log.logFailure(query, timeout)
    // The second may change once meanwhile.
    assert.ok(records.length === 10 || records.length === 20, `${records.length} lines`)
    assert.equal(records[0]?.level, 'warn')
    assert.deepEqual(records[0]?.fields, { name: 'www.example.com.', type: 'A', error: timeout.message })
  })

  test('that a rule consolidates become one line with their number; others have their own lines', () => {
    const { records, log } = failureLog([gatherTimeouts])
    for (let count = 0; count < 7; count += 1) log.logFailure(query, timeout)
    log.logFailure(query, new Error('all is lost'))
    log.close()
    assert.deepEqual(
      records.map(({ level, fields }) => [level, fields?.['error'] ?? fields?.['count']]),
      [
        ['warn', 'all is lost'],
        ['info', 7],
      ],
    )
    log.close()
    assert.equal(records.length, 2, 'a period without failures says nothing')
  })

  test('show_first logs the first one at once, and nothing more where it stays the only one', () => {
    const { records, log } = failureLog([{ ...gatherTimeouts, showFirst: true }])
    log.logFailure(query, timeout)
    assert.equal(records[0]?.fields?.['error'], timeout.message)
    log.close()
    assert.equal(records.length, 1)
    log.logFailure(query, timeout)
    log.logFailure(query, timeout)
    log.close()
    assert.deepEqual(records.at(-1)?.fields, { count: 2, like: 'not answer', withinSeconds: 3600 })
  })

  test('are not logged without `errors` in the block', () => {
    const records: ThreadLogRecord[] = []
    new FailureLog(undefined, recorder(records)).logFailure(query, timeout)
    assert.deepEqual(records, [])
  })
})
