import { change, create, type Kind, objectCases } from './object-case.ts'

const collection = '/apis/batch/v1/namespaces/default/cronjobs'
const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'main:1' }] } }
const kind: Kind = {
  collection,
  valid: { metadata: { name: 'new' }, spec: { schedule: '*/5 * * * *', jobTemplate: { spec: { template } } } },
}

const spec = (fields: object) => ({ spec: fields })
const schedule = (text: string) => spec({ schedule: text })
const zone = (text: string) => spec({ timeZone: text })
const job = (fields: object) => spec({ jobTemplate: { spec: fields } })
const inJob = 'spec.jobTemplate.spec'
const goType = { words: 'Kubernetes names its Go type' }

const goodSchedules = [
  '0 0 1 1 *',
  '@daily',
  '@every 1h30m',
  '1-5/2,7 * ? jan-MAR sun',
  ', * * * *',
  '0 0 31 2 *',
  '+5 * * * *',
]
const badSchedules = [
  ...['* * * *', '* * * * * *', '60 * * * *', '* 24 * * *', '* * 0 * *', '* * * 13 *', '* * * * 7', 'a * * * *'],
  ...[
    '5-1 * * * *',
    '1-2-3 * * * *',
    '1/2/3 * * * *',
    '*/0 * * * *',
    '-1 * * * *',
    '@sometimes',
    '@every 1',
    '@every 1d',
  ],
  ...['@every x', '@every', '99999999999999999999 * * * *', '* * L * *', '*/-1 * * * *', '*-5 * * * *x', ' '],
]

export const cronJobCases = objectCases('CronJobs', kind, [
  create('nothing special', {}),
  create('no schedule', spec({ schedule: null }), 'Required spec.schedule'),
  ...goodSchedules.map((text) => create(`the schedule "${text}"`, schedule(text))),
  ...badSchedules.map((text) => create(`the schedule "${text}"`, schedule(text), 'Invalid spec.schedule')),
  create('a time zone in the schedule', schedule('TZ=UTC 0 0 * * *'), 'Invalid spec.schedule'),
  create('an unknown time zone in the schedule', schedule('CRON_TZ=Moon/Sea 0 0 * * *'), 'Invalid spec.schedule'),
  create('a time zone', zone('Europe/Berlin')),
  create('an old name of a time zone', zone('US/Eastern')),
  create('Greenwich', zone('Etc/GMT+1')),
  ...[
    'Moon/Sea',
    'europe/berlin',
    '../etc',
    'Europe//Berlin',
    '-5',
    '',
    'local',
    'Local',
    'A'.repeat(15),
    '+05:00',
  ].map((text) => create(`the time zone ${JSON.stringify(text)}`, zone(text), 'Invalid spec.timeZone')),
  create('a policy', spec({ concurrencyPolicy: 'Replace' })),
  create('a policy that is none', spec({ concurrencyPolicy: 'Some' }), 'NotSupported spec.concurrencyPolicy'),
  create(
    'numbers below zero',
    spec({ startingDeadlineSeconds: -1, successfulJobsHistoryLimit: -1, failedJobsHistoryLimit: -1 }),
    'Invalid spec.startingDeadlineSeconds',
    'Invalid spec.successfulJobsHistoryLimit',
    'Invalid spec.failedJobsHistoryLimit',
  ),
  create('a long name', { metadata: { name: 'a'.repeat(52) } }),
  create('a longer name', { metadata: { name: 'a'.repeat(53) } }, 'Invalid metadata.name'),
  create(
    'no template',
    spec({ jobTemplate: null }),
    `Required ${inJob}.template.spec.containers`,
    `Required ${inJob}.template.spec.restartPolicy`,
  ),
  create(
    'pods that always run',
    job({ template: { spec: { restartPolicy: 'Always' } } }),
    ...[`Required ${inJob}.template.spec.restartPolicy`],
  ),
  { ...create('a selector', job({ selector: { matchLabels: { a: 'b' } } }), `Invalid ${inJob}.selector`), ...goType },
  create('a selector of its own', job({ manualSelector: true }), `NotSupported ${inJob}.manualSelector`),
  create('indexes without a number', job({ completionMode: 'Indexed' }), `Required ${inJob}.completions`),
  change('the schedule', {}, schedule('0 * * * *')),
  change('a schedule that is none', {}, schedule('0'), 'Invalid spec.schedule'),
  change('the time zone', {}, zone('Asia/Tokyo')),
  change(
    'everything',
    {},
    spec({ suspend: true, concurrencyPolicy: 'Forbid', jobTemplate: { metadata: { labels: { a: 'b' } } } }),
  ),
])
