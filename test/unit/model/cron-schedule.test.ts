import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isTimeZone, parseCron } from '../../../src/model/cron-schedule.ts'
import times from '../../fixtures/cron/times.json' with { type: 'json' }

function parse(text: string, zone?: string) {
  const schedule = parseCron(text, zone)
  assert.ok(typeof schedule !== 'string', String(schedule))
  return schedule
}

function nextTimes(text: string, from: string, zone: string, count: number): readonly string[] {
  const schedule = parse(text, zone)
  const found: string[] = []
  let timeMs: number | undefined = Date.parse(from)
  while (found.length < count) {
    timeMs = schedule.next(timeMs)
    if (timeMs === undefined) break
    found.push(new Date(timeMs).toISOString().replace('.000Z', 'Z'))
  }
  return found
}

describe('a cron schedule', () => {
  // The fixture was written by robfig/cron v3.0.1, the library of kube-controller-manager.
  test('names the times that the library of Kubernetes names, also where clocks change', () => {
    assert.ok(times.length > 300)
    for (const { schedule, zone, from, next } of times)
      assert.deepEqual(nextTimes(schedule, from, zone, next.length || 1), next, `${schedule} in ${zone} from ${from}`)
  })

  test('has no time that clocks skip, and has the repeated ones twice', () => {
    assert.deepEqual(nextTimes('30 2 * * *', '2026-03-28T12:00:00Z', 'Europe/Berlin', 1), ['2026-03-30T00:30:00Z'])
    const repeated = ['2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z']
    assert.deepEqual(nextTimes('30 2 * * *', '2026-10-24T12:00:00Z', 'Europe/Berlin', 2), repeated)
  })

  test('of a day that never comes has no next time', () => {
    assert.equal(parse('0 0 31 2 *').next(Date.parse('2026-01-01T00:00:00Z')), undefined)
  })

  test('of an interval of less than a second is one of a second', () => {
    assert.equal(parse('@every 10ms').next(1500), 2000)
    assert.equal(parse('@every 1.9s').next(0), 1000)
  })

  test('may begin with its time zone', () => {
    assert.deepEqual(nextTimes('TZ=Asia/Tokyo 0 0 * * *', '2026-01-01T00:00:00Z', 'UTC', 1), ['2026-01-01T15:00:00Z'])
  })

  test('that is none is refused with the reason', () => {
    assert.equal(parseCron('* * * *'), 'expected exactly 5 fields, found 4: [* * * *]')
    assert.equal(parseCron('60 * * * *'), 'end of range (60) above maximum (59): 60')
    assert.equal(parseCron('5-1 * * * *'), 'beginning of range (5) beyond end of range (1): 5-1')
    assert.equal(parseCron('a * * * *'), 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax')
    assert.equal(parseCron('@every 1'), 'failed to parse duration @every 1: time: missing unit in duration "1"')
  })

  test('knows names of time zones in their own spelling', () => {
    assert.deepEqual(['UTC', 'Europe/Berlin', 'US/Eastern'].map(isTimeZone), [true, true, true])
    assert.deepEqual(['europe/berlin', '+01:00', '', 'Moon/Sea'].map(isTimeZone), [false, false, false, false])
  })
})
