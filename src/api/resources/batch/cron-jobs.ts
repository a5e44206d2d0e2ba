import { formatAge } from '../../../model/age.ts'
import type { Json } from '../../../model/api-object.ts'
import { type ApiDocument, listAt, objectAt, textAt, valueAt } from '../../document.ts'
import { defineKind } from '../define-kind.ts'
import { formatLabelSelector } from '../label-selector.ts'
import { completeTemplate } from '../pod-spec/pod-defaults.ts'
import { column, type Resource } from '../resource.ts'
import { containerColumnsAt } from '../template-columns.ts'
import { validateCronJob, validateNewCronJob } from './cron-job-rules.ts'
import { jobTemplateDefaults } from './job-defaults.ts'

/** The kind CronJob; its group has the same name in every dialect. */
export function cronJobs(): Resource {
  return defineKind({
    group: 'batch',
    version: 'v1',
    kind: 'CronJob',
    plural: 'cronjobs',
    shortNames: ['cj'],
    categories: ['all'],
    namespaced: true,
    subresources: ['status'],
    countsGeneration: true,
    defaults: {
      spec: {
        default: {},
        properties: {
          schedule: { default: '' },
          concurrencyPolicy: { default: 'Allow' },
          suspend: { default: false },
          successfulJobsHistoryLimit: { default: 3 },
          failedJobsHistoryLimit: { default: 1 },
          jobTemplate: { default: {}, properties: { spec: jobTemplateDefaults } },
        },
      },
      status: { default: {} },
    },
    columns: [
      column('Schedule', ({ spec }) => textAt(spec, 'schedule')),
      column('Timezone', ({ spec }) => textAt(spec, 'timeZone') || '<none>'),
      { ...column('Suspend', suspendCell), type: 'boolean' },
      { ...column('Active', ({ status }) => listAt(status, 'active').length), type: 'integer' },
      column('Last Schedule', lastScheduleCell),
      ...containerColumnsAt('jobTemplate', 'spec', 'template'),
      column('Selector', ({ spec }) => formatLabelSelector(valueAt(spec, 'jobTemplate', 'spec', 'selector')), {
        wide: true,
      }),
    ],
    strategy: {
      orphansByDefault: true,
      prepareForCreate: complete,
      prepareForUpdate: complete,
      validate: (cronJob, old) => [...validateCronJob(cronJob, old), ...(old ? [] : validateNewCronJob(cronJob))],
    },
  })
}

function complete(cronJob: ApiDocument): ApiDocument {
  const spec = objectAt(cronJob['spec'])
  const jobTemplate = objectAt(spec, 'jobTemplate')
  const jobSpec = objectAt(jobTemplate, 'spec')
  const template = completeTemplate(jobSpec['template'])
  return { ...cronJob, spec: { ...spec, jobTemplate: { ...jobTemplate, spec: { ...jobSpec, template } } } }
}

function suspendCell({ spec }: ApiDocument): string {
  const text = textAt(spec, 'suspend')
  if (text === '') return '<unset>'
  return text === 'true' ? 'True' : 'False'
}

function lastScheduleCell({ status }: ApiDocument, now: Date): Json {
  const time = textAt(status, 'lastScheduleTime')
  return time === '' ? '<none>' : formatAge(now.getTime() - Date.parse(time))
}
