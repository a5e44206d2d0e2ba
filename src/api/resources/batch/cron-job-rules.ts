import type { Json, JsonObject } from '../../../model/api-object.ts'
import { isTimeZone, parseCron } from '../../../model/cron-schedule.ts'
import { type ApiDocument, objectAt, textAt } from '../../document.ts'
import { fields, nonNegative } from '../../schema/checks.ts'
import { type FieldError, invalidField, requiredField, unsupportedField } from '../../schema/field-error.ts'
import { isGiven, validateJobSpec } from './job-spec-rules.ts'

const policies = ['Allow', 'Forbid', 'Replace']
/** A Job's name is that of its CronJob and 11 characters more. */
const maxNameLength = 63 - 11

const numbers = fields({
  startingDeadlineSeconds: nonNegative,
  successfulJobsHistoryLimit: nonNegative,
  failedJobsHistoryLimit: nonNegative,
})

/** Returns the errors of a CronJob. A time zone in the schedule, and one that is unknown now, may stay. */
export function validateCronJob({ spec }: ApiDocument, old: ApiDocument | undefined): readonly FieldError[] {
  const [object, oldSpec] = [objectAt(spec), old && objectAt(old['spec'])]
  const isZoneKept = oldSpec !== undefined && textAt(oldSpec, 'timeZone') === textAt(object, 'timeZone')
  return [
    ...checkSchedule(object, oldSpec),
    ...numbers(object, 'spec'),
    ...(isZoneKept || !isGiven(object, 'timeZone') ? [] : checkTimeZone(textAt(object, 'timeZone'))),
    ...checkPolicy(textAt(object, 'concurrencyPolicy')),
    ...checkTemplate(objectAt(object, 'jobTemplate', 'spec')),
  ]
}

export function validateNewCronJob({ metadata: { name = '' } }: ApiDocument): readonly FieldError[] {
  if (name.length <= maxNameLength) return []
  return [invalidField('metadata.name', name, `must be no more than ${maxNameLength} characters`)]
}

function checkSchedule(spec: JsonObject, old: JsonObject | undefined): readonly FieldError[] {
  const schedule = textAt(spec, 'schedule')
  if (schedule === '') return [requiredField('spec.schedule')]
  const parsed = parseCron(schedule)
  const zone = checkZoneInSchedule(schedule, textAt(old, 'schedule').includes('TZ'), isGiven(spec, 'timeZone'))
  return [parsed, zone]
    .filter((why) => typeof why === 'string')
    .map((why) => invalidField('spec.schedule', schedule, why))
}

function checkZoneInSchedule(schedule: string, wasAllowed: boolean, hasField: boolean): string | undefined {
  if (!schedule.includes('TZ')) return undefined
  if (!wasAllowed) return 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead'
  return hasField ? 'cannot use both timeZone field and TZ or CRON_TZ in schedule' : undefined
}

/** Checks a name as the time zone database gives it (https://data.iana.org/time-zones/theory.html#naming). */
function checkTimeZone(zone: string): readonly FieldError[] {
  const invalid = (why: string) => invalidField('spec.timeZone', zone, why)
  if (zone === '') return [invalid('timeZone must be nil or non-empty string')]
  const isPart = (part: string) =>
    /^[A-Za-z.\-_0-9+]{1,14}$/.test(part) && part !== '.' && part !== '..' && !part.startsWith('-')
  if (!zone.split('/').every(isPart)) return [invalid(`unknown time zone ${zone}`)]
  return [
    ...(zone.toLowerCase() === 'local'
      ? [invalid('timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones')]
      : []),
    ...(zone === 'Local' || isTimeZone(zone) ? [] : [invalid(`unknown time zone ${zone}`)]),
  ]
}

function checkPolicy(policy: string): readonly FieldError[] {
  if (policy === '') return [requiredField('spec.concurrencyPolicy')]
  return policies.includes(policy) ? [] : [unsupportedField('spec.concurrencyPolicy', policy, policies)]
}

function checkTemplate(spec: JsonObject): readonly FieldError[] {
  const path = 'spec.jobTemplate.spec'
  const selector: Json | undefined = spec['selector']
  return [
    ...validateJobSpec(spec, path),
    ...(isGiven(spec, 'selector')
      ? [invalidField(`${path}.selector`, selector, '`selector` will be auto-generated')]
      : []),
    ...(spec['manualSelector'] === true ? [unsupportedField(`${path}.manualSelector`, true, ['nil', 'false'])] : []),
  ]
}
