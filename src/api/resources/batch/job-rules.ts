import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../../model/api-object.ts'
import type { JobNames } from '../../../model/job-names.ts'
import { matchesLabels, readLabelSelector } from '../../../model/selector.ts'
import { type ApiDocument, objectAt, textAt, valueAt, without } from '../../document.ts'
import { checkKept } from '../../schema/checks.ts'
import { type FieldError, invalidField, requiredField } from '../../schema/field-error.ts'
import { checkDnsLabel } from '../../schema/names.ts'
import { validateLabelSelector } from '../label-selector.ts'
import { isGiven, numberAt, validateJobSpec } from './job-spec-rules.ts'

/** The labels that Jobs had before names with a domain; clients still select by them. */
export const legacyLabels = { jobName: 'job-name', controllerUid: 'controller-uid' } as const

/** Returns the errors of a Job. An update accepts a template without the labels with a domain, if it had none before. */
export function validateJob(names: JobNames, job: ApiDocument, old: ApiDocument | undefined): readonly FieldError[] {
  const spec = objectAt(job['spec'])
  return [
    ...checkGenerated(names, job, spec, old === undefined || hadLabels(names, old)),
    ...validateJobSpec(spec, 'spec'),
    ...checkSelector(spec),
    ...checkHostName(job, spec),
  ]
}

function hadLabels({ jobName, controllerUid }: JobNames, { spec }: ApiDocument): boolean {
  const labels = objectAt(spec, 'template', 'metadata', 'labels')
  return [jobName, controllerUid].every((label) => labels[label] !== undefined)
}

/** Checks that the generated labels of the template name this Job, unless the selector is the author's own. */
function checkGenerated(names: JobNames, job: ApiDocument, spec: JsonObject, needsAll: boolean): readonly FieldError[] {
  if (spec['manualSelector'] === true || !isGiven(spec, 'selector')) return []
  const { name = '', uid = '' } = job.metadata
  const wanted = {
    [legacyLabels.controllerUid]: uid,
    [legacyLabels.jobName]: name,
    ...(needsAll ? { [names.controllerUid]: uid, [names.jobName]: name } : {}),
  }
  const labels = objectAt(spec, 'template', 'metadata', 'labels')
  const requirements = readLabelSelector(spec['selector'] ?? {})
  const isOther = requirements !== undefined && !matchesLabels(requirements, wanted)
  return [
    ...Object.entries(wanted).flatMap(([label, value]) => checkLabel(labels, label, value)),
    ...(isOther ? [invalidField('spec.selector', spec['selector'], '`selector` not auto-generated')] : []),
  ]
}

function checkLabel(labels: JsonObject, label: string, value: string): readonly FieldError[] {
  const path = 'spec.template.metadata.labels'
  if (labels[label] === undefined) return [requiredField(`${path}[${label}]`, `must be '${value}'`)]
  if (textAt(labels, label) === value) return []
  return [invalidField(`${path}[${label}]`, labels as Json, `must be '${value}'`)]
}

function checkSelector(spec: JsonObject): readonly FieldError[] {
  const labels = objectAt(spec, 'template', 'metadata', 'labels')
  const path = 'spec.template.metadata.labels'
  const mismatch = invalidField(
    path,
    valueAt(spec, 'template', 'metadata', 'labels'),
    '`selector` does not match template `labels`',
  )
  if (!isGiven(spec, 'selector')) return [requiredField('spec.selector'), mismatch]
  const errors = validateLabelSelector(spec['selector'], 'spec.selector')
  if (errors.length > 0) return errors
  const requirements = readLabelSelector(spec['selector'] ?? {})
  const texts = Object.fromEntries(Object.entries(labels).map(([key, value]) => [key, textAt(value)]))
  return requirements === undefined || matchesLabels(requirements, texts) ? [] : [mismatch]
}

/** Checks that the host name of the last Pod of an Indexed Job is a valid label. */
function checkHostName({ metadata }: ApiDocument, spec: JsonObject): readonly FieldError[] {
  const completions = numberAt(spec, 'completions') ?? 0
  if (textAt(spec, 'completionMode') !== 'Indexed' || completions <= 0) return []
  const hostName = `${metadata.name ?? ''}-${completions - 1}`
  if (checkDnsLabel(hostName) === undefined) return []
  const why = `will not able to create pod with invalid DNS label: ${hostName}`
  return [invalidField('metadata.name', metadata.name ?? '', why)]
}

const immutable = [
  'selector',
  'completionMode',
  'podFailurePolicy',
  'backoffLimitPerIndex',
  'managedBy',
  'successPolicy',
]

/** Checks an update: what the Pods are cannot change, except where they may run while the Job has not started. */
export function validateJobUpdate(next: ApiDocument, old: ApiDocument): readonly FieldError[] {
  const [spec, oldSpec] = [objectAt(next['spec']), objectAt(old['spec'])]
  return [
    ...checkCompletions(spec, oldSpec),
    ...checkTemplateKept(spec, oldSpec, isWaiting(old)),
    ...immutable.flatMap((field) => checkKept(spec[field], oldSpec[field], `spec.${field}`)),
  ]
}

function isWaiting({ spec, status }: ApiDocument): boolean {
  return objectAt(spec)['suspend'] === true && !isGiven(objectAt(status), 'startTime')
}

/** The completions of an Indexed Job change together with its parallelism. */
function checkCompletions(spec: JsonObject, old: JsonObject): readonly FieldError[] {
  const completions = spec['completions']
  if (textAt(spec, 'completionMode') !== 'Indexed')
    return checkKept(completions, old['completions'], 'spec.completions')
  const isChanged = !isDeepStrictEqual(completions, old['completions'])
  if (!isChanged || !isGiven(spec, 'completions') || completions === spec['parallelism']) return []
  return [invalidField('spec.completions', completions, 'can only be modified in tandem with spec.parallelism')]
}

function checkTemplateKept(spec: JsonObject, old: JsonObject, isMutable: boolean): readonly FieldError[] {
  const [template, oldTemplate] = [objectAt(spec, 'template'), objectAt(old, 'template')]
  if (!isMutable) return checkKept(template, oldTemplate, 'spec.template')
  const isKept = isDeepStrictEqual(withoutScheduling(template), withoutScheduling(oldTemplate))
  return isKept ? [] : [invalidField('spec.template', template, 'field is immutable')]
}

/** Returns a template without what decides where its Pods run. */
function withoutScheduling(template: JsonObject): JsonObject {
  const spec = objectAt(template, 'spec')
  const affinity = without(objectAt(spec, 'affinity'), 'nodeAffinity')
  return {
    ...template,
    metadata: without(objectAt(template, 'metadata'), 'labels', 'annotations'),
    spec: { ...without(spec, 'nodeSelector', 'tolerations', 'schedulingGates'), affinity },
  }
}
