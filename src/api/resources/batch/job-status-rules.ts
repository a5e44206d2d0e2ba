import type { Json, JsonObject } from '../../../model/api-object.ts'
import { type ApiDocument, isJsonObject, listAt, objectAt, textAt } from '../../document.ts'
import { fields, nonNegative } from '../../schema/checks.ts'
import { duplicateField, type FieldError, invalidField, invalidPart, requiredField } from '../../schema/field-error.ts'
import { findCommonIndex, parseIndexes } from './indexes.ts'
import { isGiven, numberAt } from './job-spec-rules.ts'

/** Returns the errors of a status; a write of the status is refused for those that the old one did not have. */
export function validateJobStatus(next: ApiDocument, old: ApiDocument): readonly FieldError[] {
  const [spec, status, oldStatus] = [objectAt(next['spec']), objectAt(next['status']), objectAt(old['status'])]
  return [
    ...counts(status, 'status'),
    ...checkUncounted(status),
    ...checkConditions(status, spec),
    ...checkTimes(status),
    ...checkFinished(status, spec),
    ...checkIndexes(status, spec),
    ...checkTransition(spec, status, oldStatus),
  ]
}

const counts = fields(
  Object.fromEntries(['active', 'succeeded', 'failed', 'ready', 'terminating'].map((name) => [name, nonNegative])),
)

/** Checks whether a condition of the status is True. */
export function isTrue(status: JsonObject, type: string): boolean {
  return statusOf(status, type) === 'True'
}

function statusOf(status: JsonObject, type: string): string {
  const found = listAt(status, 'conditions').find((each) => isJsonObject(each) && each['type'] === type)
  return textAt(found, 'status')
}

function isFinished(status: JsonObject): boolean {
  return isTrue(status, 'Complete') || isTrue(status, 'Failed')
}

function checkUncounted(status: JsonObject): readonly FieldError[] {
  const seen = new Set<string>()
  return ['succeeded', 'failed'].flatMap((list) =>
    listAt(status, 'uncountedTerminatedPods', list).flatMap((value, index) => {
      const [uid, path] = [textAt(value), `status.uncountedTerminatedPods.${list}[${index}]`]
      if (uid === '') return [invalidField(path, uid, 'must not be empty')]
      if (seen.has(uid)) return [duplicateField(path, uid)]
      seen.add(uid)
      return []
    }),
  )
}

/** The pairs of conditions that exclude each other. */
const exclusive = [
  ['Complete', 'Failed', 'cannot set Complete=True and Failed=true conditions'],
  ['Complete', 'FailureTarget', 'cannot set Complete=True and FailureTarget=true conditions'],
  ['SuccessCriteriaMet', 'Failed', 'cannot set SuccessCriteriaMet=True and Failed=true conditions'],
  ['SuccessCriteriaMet', 'FailureTarget', 'cannot set SuccessCriteriaMet=True and FailureTarget=true conditions'],
] as const

/** The conditions that come before the end of a Job. */
const interim = [
  ['Failed', 'FailureTarget', 'cannot set Failed=True condition without the FailureTarget=true condition'],
  [
    'Complete',
    'SuccessCriteriaMet',
    'cannot set Complete=True condition without the SuccessCriteriaMet=true condition',
  ],
] as const

function checkConditions(status: JsonObject, spec: JsonObject): readonly FieldError[] {
  const isOn = (type: string) => isTrue(status, type)
  const whys = [
    ...exclusive.filter(([one, other]) => isOn(one) && isOn(other)).map(([, , why]) => why),
    ...interim.filter(([end, before]) => isOn(end) && !isOn(before)).map(([, , why]) => why),
    ...(isGiven(spec, 'successPolicy') && isOn('Complete') && !isOn('SuccessCriteriaMet')
      ? ['cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True']
      : []),
  ]
  return whys.map((why) => invalidPart('status.conditions', why))
}

function checkTimes(status: JsonObject): readonly FieldError[] {
  const [completed, started] = [textAt(status, 'completionTime'), textAt(status, 'startTime')]
  const isComplete = isTrue(status, 'Complete')
  const path = 'status.completionTime'
  return [
    ...(completed !== '' && !isComplete
      ? [invalidField(path, completed, 'cannot set completionTime when there is no Complete=True condition')]
      : []),
    ...(completed === '' && isComplete ? [requiredField(path, 'completionTime is required for Complete jobs')] : []),
    ...(completed !== '' && started !== '' && Date.parse(completed) < Date.parse(started)
      ? [invalidField(path, completed, 'must be equal to or after `startTime`')]
      : []),
  ]
}

function checkFinished(status: JsonObject, spec: JsonObject): readonly FieldError[] {
  const [active, ready] = [numberAt(status, 'active') ?? 0, numberAt(status, 'ready')]
  const more =
    ready !== undefined && ready > active
      ? [invalidField('status.ready', ready, 'cannot set more ready pods than active')]
      : []
  if (!isFinished(status)) return more
  const terminating = numberAt(status, 'terminating') ?? 0
  const uncounted = status['uncountedTerminatedPods']
  const isCounted = ['succeeded', 'failed'].every((list) => listAt(uncounted, list).length === 0)
  const neverStarts = spec['suspend'] === true && spec['completions'] === 0
  return [
    ...more,
    ...(active > 0 ? [invalidField('status.active', active, 'active>0 is invalid for finished job')] : []),
    ...(isGiven(status, 'startTime') || neverStarts
      ? []
      : [requiredField('status.startTime', 'startTime is required for finished job')]),
    ...(isCounted ? [] : [invalidField('status.uncountedTerminatedPods', uncounted, 'must be empty for finished job')]),
    ...(terminating > 0
      ? [invalidField('status.terminating', terminating, 'terminating>0 is invalid for finished job')]
      : []),
  ]
}

function checkIndexes(status: JsonObject, spec: JsonObject): readonly FieldError[] {
  const [completedText, failed] = [textAt(status, 'completedIndexes'), status['failedIndexes'] ?? undefined]
  const [failedText, limit] = [textAt(failed), numberAt(spec, 'completions')]
  const [hasLimit, isIndexed] = [isGiven(spec, 'backoffLimitPerIndex'), textAt(spec, 'completionMode') === 'Indexed']
  const completed = limit === undefined ? [] : parseIndexes(completedText, limit)
  const failures = limit === undefined ? [] : parseIndexes(failedText, limit)
  const parsing = (field: string, text: string, parsed: unknown) =>
    typeof parsed === 'string' ? [invalidField(`status.${field}`, text, `error parsing ${field}: ${parsed}`)] : []
  return [
    ...parsing('completedIndexes', completedText, completed),
    ...(hasLimit ? parsing('failedIndexes', failedText, failures) : []),
    ...(completedText !== '' && !isIndexed
      ? [
          invalidField(
            'status.completedIndexes',
            completedText,
            'cannot set non-empty completedIndexes when non-indexed completion mode',
          ),
        ]
      : []),
    ...(failed !== undefined && !hasLimit
      ? [
          invalidField(
            'status.failedIndexes',
            failedText,
            'cannot set non-null failedIndexes when backoffLimitPerIndex is null',
          ),
        ]
      : []),
    ...checkOverlap(completed, failures, failedText),
  ]
}

function checkOverlap(
  completed: ReturnType<typeof parseIndexes>,
  failed: ReturnType<typeof parseIndexes>,
  failedText: string,
): readonly FieldError[] {
  if (typeof completed === 'string' || typeof failed === 'string') return []
  const common = findCommonIndex(completed, failed)
  if (common === undefined) return []
  const why = `failedIndexes and completedIndexes overlap at index: ${common}`
  return [invalidField('status.failedIndexes', failedText, why)]
}

function checkTransition(spec: JsonObject, status: JsonObject, old: JsonObject): readonly FieldError[] {
  const isLost = (type: string) => isTrue(old, type) && !isTrue(status, type)
  const canShrink =
    textAt(spec, 'completionMode') === 'Indexed' && textAt(spec, 'completions') === textAt(spec, 'parallelism')
  return [
    ...['Failed', 'Complete', 'FailureTarget']
      .filter(isLost)
      .map((type) => invalidPart('status.conditions', `cannot disable the terminal ${type}=True condition`)),
    ...(isLost('SuccessCriteriaMet')
      ? [invalidPart('status.conditions', 'cannot disable the SuccessCriteriaMet=True condition')]
      : []),
    ...(isTrue(old, 'Complete') && !isTrue(old, 'SuccessCriteriaMet') && isTrue(status, 'SuccessCriteriaMet')
      ? [
          invalidPart(
            'status.conditions',
            'cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions',
          ),
        ]
      : []),
    ...checkGrowth('failed', status, old),
    ...(canShrink ? [] : checkGrowth('succeeded', status, old)),
    ...checkStart(spec, status, old),
    ...checkCompletionKept(status['completionTime'] ?? null, old['completionTime'] ?? null),
  ]
}

function checkGrowth(counter: string, status: JsonObject, old: JsonObject): readonly FieldError[] {
  const [count, before] = [numberAt(status, counter) ?? 0, numberAt(old, counter) ?? 0]
  return count < before ? [invalidField(`status.${counter}`, count, `cannot decrease the ${counter} counter`)] : []
}

function checkStart(spec: JsonObject, status: JsonObject, old: JsonObject): readonly FieldError[] {
  const isKept = !isGiven(old, 'startTime') || old['startTime'] === status['startTime']
  const isResuming = statusOf(old, 'Suspended') === 'True' && statusOf(status, 'Suspended') === 'False'
  if (isKept || isResuming || spec['suspend'] === true) return []
  return [requiredField('status.startTime', 'startTime cannot be removed for unsuspended job')]
}

function checkCompletionKept(time: Json, old: Json): readonly FieldError[] {
  if (time === null || old === null || time === old) return []
  return [invalidField('status.completionTime', time, 'field is immutable')]
}
