import { formatAge } from '../../../model/age.ts'
import type { Json, JsonObject } from '../../../model/api-object.ts'
import type { JobNames } from '../../../model/job-names.ts'
import { type ApiDocument, objectAt, textAt, valueAt, withMetadata } from '../../document.ts'
import { defineKind } from '../define-kind.ts'
import { formatLabelSelector } from '../label-selector.ts'
import { completeTemplate } from '../pod-spec/pod-defaults.ts'
import { column, type Resource } from '../resource.ts'
import { containerColumnsAt } from '../template-columns.ts'
import { jobDefaults } from './job-defaults.ts'
import { legacyLabels, validateJob, validateJobUpdate } from './job-rules.ts'
import { isGiven } from './job-spec-rules.ts'
import { isTrue, validateJobStatus } from './job-status-rules.ts'

/** The kind Job; its group has the same name in every dialect. */
export function jobs(names: JobNames): Resource {
  return defineKind({
    group: 'batch',
    version: 'v1',
    kind: 'Job',
    plural: 'jobs',
    namespaced: true,
    categories: ['all'],
    subresources: ['status'],
    countsGeneration: true,
    selectableFields: { 'status.successful': ({ status }) => textAt(status, 'succeeded') || '0' },
    defaults: { spec: jobDefaults, status: { default: {} } },
    columns: [
      column('Status', statusCell),
      column('Completions', completionsCell),
      column('Duration', durationCell),
      ...containerColumnsAt('template'),
      column('Selector', ({ spec }) => formatLabelSelector(valueAt(spec, 'selector')), { wide: true }),
    ],
    strategy: {
      orphansByDefault: true,
      prepareForCreate: complete,
      prepareForUpdate: complete,
      admit: async (job) => withSelector(names, job),
      validate: (job, old) => validateJob(names, job, old),
      validateUpdate: validateJobUpdate,
      validateStatus: validateJobStatus,
    },
  })
}

const mostFailures = 2 ** 31 - 1

/** Fills in the defaults that follow from other fields. */
function complete(job: ApiDocument): ApiDocument {
  return withLabels({ ...job, spec: completeJobSpec(objectAt(job['spec'])) })
}

/** A Job without labels gets those of its template. */
function withLabels(job: ApiDocument): ApiDocument {
  const labels = objectAt(job['spec'], 'template', 'metadata', 'labels') as Readonly<Record<string, string>>
  const isLabelled = Object.keys(job.metadata.labels ?? {}).length > 0 || Object.keys(labels).length === 0
  return isLabelled ? job : withMetadata(job, { labels })
}

function completeJobSpec(spec: JsonObject): JsonObject {
  const isParallel = isGiven(spec, 'completions') || isGiven(spec, 'parallelism')
  const backoffLimit = isGiven(spec, 'backoffLimitPerIndex') ? mostFailures : 6
  const podReplacementPolicy = isGiven(spec, 'podFailurePolicy') ? 'Failed' : 'TerminatingOrFailed'
  const template = completeTemplate(spec['template'])
  return {
    ...(isParallel ? {} : { completions: 1 }),
    parallelism: 1,
    backoffLimit,
    podReplacementPolicy,
    ...withoutNulls(spec),
    template,
  }
}

function withoutNulls(spec: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== null))
}

/** Adds the labels by which a Job finds its Pods, and the selector, unless the selector is the author's own. */
function withSelector(names: JobNames, job: ApiDocument): ApiDocument {
  const spec = objectAt(job['spec'])
  if (spec['manualSelector'] === true) return job
  const { name = '', uid = '' } = job.metadata
  const [template, selector] = [objectAt(spec, 'template'), objectAt(spec, 'selector')]
  const metadata = objectAt(template, 'metadata')
  const labels = {
    [legacyLabels.jobName]: name,
    [names.jobName]: name,
    [legacyLabels.controllerUid]: uid,
    [names.controllerUid]: uid,
    ...objectAt(metadata, 'labels'),
  }
  const matchLabels = { [names.controllerUid]: uid, ...objectAt(selector, 'matchLabels') }
  return withLabels({
    ...job,
    spec: {
      ...spec,
      selector: { ...selector, matchLabels },
      template: { ...template, metadata: { ...metadata, labels } },
    },
  })
}

function statusCell({ metadata, status }: ApiDocument): string {
  const object = objectAt(status)
  const found = ['Complete', 'Failed'].find((type) => isTrue(object, type))
  if (found !== undefined) return found
  if (metadata.deletionTimestamp !== undefined) return 'Terminating'
  return ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'].find((type) => isTrue(object, type)) ?? 'Running'
}

function completionsCell({ spec, status }: ApiDocument): string {
  const succeeded = textAt(status, 'succeeded') || '0'
  const [completions, parallelism] = [textAt(spec, 'completions'), Number(textAt(spec, 'parallelism') || 0)]
  if (completions !== '') return `${succeeded}/${completions}`
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`
}

function durationCell({ status }: ApiDocument, now: Date): Json {
  const [started, completed] = [textAt(status, 'startTime'), textAt(status, 'completionTime')]
  if (started === '') return ''
  const endMs = completed === '' ? now.getTime() : Date.parse(completed)
  return formatAge(endMs - Date.parse(started))
}
