import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { planCronJob } from '../../../../src/controllers/workloads/cron-job/plan.ts'
import { cronJobSchema } from '../../../../src/controllers/workloads/cron-job/shapes.ts'
import { type Job, jobSchema } from '../../../../src/controllers/workloads/job/shapes.ts'
import { createDialect } from '../../../../src/model/dialect.ts'

const names = createDialect('kubernetes').jobs
const hour = '0 * * * *'

function plan(spec: object, { status = {}, jobs = [] as readonly Job[], at = '2026-01-01T03:00:05Z' } = {}) {
  const metadata = { name: 'c', namespace: 'default', uid: 'cron', creationTimestamp: '2026-01-01T01:30:00Z' }
  const jobTemplate = { metadata: { labels: { a: 'b' } }, spec: { template: { spec: {} } } }
  const cronJob = cronJobSchema.parse({ metadata, spec: { schedule: hour, jobTemplate, ...spec }, status })
  return planCronJob({ cronJob, jobs, names, nowMs: Date.parse(at) })
}

const started = { lastScheduleTime: '2026-01-01T02:00:00Z' }
const job = (name: string, status: object = {}) =>
  jobSchema.parse({ metadata: { name, uid: name, namespace: 'default' }, spec: { template: {} }, status })
const ended = (name: string, type: string, startTime: string) =>
  job(name, { startTime, completionTime: startTime, conditions: [{ type, status: 'True' }] })
const runs = (name: string) => ({ active: [{ name, uid: name, namespace: 'default' }], ...started })
const reasons = ({ events }: ReturnType<typeof plan>) => events.map(({ reason }) => reason)

describe('a CronJob', () => {
  test('makes the Job of the last time that has come, under a name of that time', () => {
    const { creation, againInMs } = plan({}, { status: started })
    assert.equal(creation?.job.metadata.name, `c-${Date.parse('2026-01-01T03:00:00Z') / 60_000}`)
    assert.deepEqual(creation?.job.metadata['annotations'], { [names.scheduledTimestamp]: '2026-01-01T03:00:00Z' })
    assert.deepEqual(creation?.job.metadata['labels'], { a: 'b' })
    assert.equal(againInMs, 3_595_100)
  })

  test('names the time in its own zone', () => {
    const { creation } = plan({ timeZone: 'Asia/Kolkata', schedule: '30 8 * * *' }, { status: started })
    assert.deepEqual(creation?.job.metadata['annotations'], { [names.scheduledTimestamp]: '2026-01-01T08:30:00+05:30' })
  })

  test('makes one Job for several missed times', () => {
    const { creation } = plan({}, { at: '2026-01-01T09:10:00Z' })
    assert.equal(creation?.dueMs, Date.parse('2026-01-01T09:00:00Z'))
  })

  test('says so when it has missed very many', () => {
    assert.deepEqual(reasons(plan({}, { at: '2026-01-09T09:10:00Z' })), ['TooManyMissedTimes'])
  })

  test('makes none before its time, while suspended, or past its deadline', () => {
    assert.equal(plan({}, { at: '2026-01-01T01:59:59Z' }).creation, undefined)
    assert.equal(plan({ suspend: true }, { status: started }).creation, undefined)
    const late = plan({ startingDeadlineSeconds: 4 }, { status: started })
    assert.equal(late.creation, undefined)
    assert.equal(late.againInMs, 3_595_100)
    assert.equal(
      plan({ startingDeadlineSeconds: 6 }, { status: started }).creation?.dueMs,
      Date.parse('2026-01-01T03:00:00Z'),
    )
  })

  test('forbids, replaces or allows a second Job as its policy says', () => {
    const view = { status: runs('old'), jobs: [job('old')] }
    const forbids = plan({ concurrencyPolicy: 'Forbid' }, view)
    assert.deepEqual([forbids.creation, reasons(forbids)], [undefined, ['JobAlreadyActive']])
    const replaces = plan({ concurrencyPolicy: 'Replace' }, view)
    assert.deepEqual(
      replaces.deletions.map(({ metadata }) => metadata.name),
      ['old'],
    )
    assert.deepEqual(replaces.active, [])
    const allows = plan({}, view)
    assert.deepEqual(
      allows.active.map(({ name }) => name),
      ['old'],
    )
    assert.ok(allows.creation !== undefined && allows.deletions.length === 0)
  })

  test('forgets Jobs that ended or are gone, and keeps the time of the last success', () => {
    const done = ended('old', 'Complete', '2026-01-01T02:30:00Z')
    const saw = plan({ suspend: true }, { status: runs('old'), jobs: [done] })
    assert.deepEqual(
      [saw.active, reasons(saw), saw.lastSuccessfulTime],
      [[], ['SawCompletedJob'], '2026-01-01T02:30:00Z'],
    )
    assert.deepEqual(reasons(plan({ suspend: true }, { status: runs('old') })), ['MissingJob'])
  })

  test('keeps as many ended Jobs as its limits say, the newest', () => {
    const jobs = ['a', 'b', 'c'].map((name, index) => ended(name, 'Complete', `2026-01-01T0${index}:00:00Z`))
    const failed = ['x', 'y'].map((name, index) => ended(name, 'Failed', `2026-01-01T0${index}:00:00Z`))
    const { deletions } = plan(
      { suspend: true, successfulJobsHistoryLimit: 1, failedJobsHistoryLimit: 1 },
      { jobs: [...jobs.toReversed(), ...failed] },
    )
    assert.deepEqual(
      deletions.map(({ metadata }) => metadata.name),
      ['a', 'b', 'x'],
    )
  })

  test('reports a schedule or a time zone that it cannot read', () => {
    assert.deepEqual(reasons(plan({ schedule: 'x' })), ['UnparseableSchedule'])
    assert.deepEqual(reasons(plan({ timeZone: 'Moon/Sea' })), ['UnknownTimeZone'])
  })
})
