import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../model/api-object.ts'
import { type ApiDocument, isJsonObject, textAt, valueAt } from '../document.ts'
import { type FieldError, invalidField, requiredField } from '../schema/field-error.ts'
import { qualifiedNameProblems } from '../schema/metadata-rules.ts'

/** The names that the newer group gives to fields of the core group. Errors name the stored field. */
export const storedNames: Readonly<Record<string, string>> = {
  regarding: 'involvedObject',
  note: 'message',
  reportingController: 'reportingComponent',
  deprecatedSource: 'source',
  deprecatedFirstTimestamp: 'firstTimestamp',
  deprecatedLastTimestamp: 'lastTimestamp',
  deprecatedCount: 'count',
}

/** The names of the fields in one of the two forms. */
interface Names {
  readonly reference: string
  readonly controller: string
  readonly message: string
}
const coreNames: Names = { reference: 'involvedObject', controller: 'reportingComponent', message: 'message' }
const groupNames: Names = { reference: 'regarding', controller: 'reportingController', message: 'note' }
const none: readonly FieldError[] = []

export function validateCoreEvent(event: ApiDocument): readonly FieldError[] {
  return validateEvent(event, coreNames)
}

/** Checks an Event of the newer group. Values that the core group stored may stay. */
export function validateGroupEvent(event: ApiDocument, old: ApiDocument | undefined): readonly FieldError[] {
  const own = validateEvent(event, groupNames)
  return old === undefined ? [...own, ...validateNewEvent(event)] : own
}

function validateEvent(event: ApiDocument, names: Names): readonly FieldError[] {
  const isPlaced = isTimed(event) ? isInOpenNamespace(event, names) : isInItsNamespace(event, names)
  const about = textAt(event[names.reference], 'namespace')
  return [
    ...(isPlaced ? none : [invalidField('involvedObject.namespace', about, 'does not match event.namespace')]),
    ...(isTimed(event) ? validateTimedEvent(event, names) : none),
  ]
}

function isTimed(event: ApiDocument): boolean {
  return textAt(event['eventTime']) !== ''
}

/** Checks the namespace of an Event: Events about objects without a namespace belong to `default`. */
function isInItsNamespace(event: ApiDocument, { reference }: Names): boolean {
  const about = textAt(event[reference], 'namespace')
  const { namespace = '' } = event.metadata
  return about === '' ? namespace === 'default' : about === namespace
}

function isInOpenNamespace(event: ApiDocument, { reference }: Names): boolean {
  const { namespace = '' } = event.metadata
  return textAt(event[reference], 'namespace') !== '' || namespace === 'default' || namespace === 'kube-system'
}

const maxLetters = 128
const maxMessageLetters = 1024

/** Checks that an Event with an event time names its reporter and its reason. */
function validateTimedEvent(event: ApiDocument, { controller, message }: Names): readonly FieldError[] {
  const reporter = textAt(event[controller])
  return [
    ...(reporter === '' ? [requiredField(controller)] : none),
    ...qualifiedNameProblems(reporter).map((why) => invalidField(controller, reporter, why)),
    ...['reportingInstance', 'action', 'reason'].flatMap((field) => validateWord(field, textAt(event[field]))),
    ...validateLength('message', textAt(event[message]), maxMessageLetters),
  ]
}

function validateWord(field: string, text: string): readonly FieldError[] {
  return text === '' ? [requiredField(field)] : validateLength(field, text, maxLetters)
}

/** Checks the length of a text. It may be long, so no message repeats it. */
function validateLength(field: string, text: string, most: number): readonly FieldError[] {
  if (Buffer.byteLength(text) <= most) return none
  return [invalidField(field, '', `can have at most ${most} characters`)]
}

const unsetFields = ['deprecatedFirstTimestamp', 'deprecatedLastTimestamp', 'deprecatedCount', 'deprecatedSource']

function validateNewEvent(event: ApiDocument): readonly FieldError[] {
  const type = textAt(event['type'])
  return [
    ...validateSeries(event),
    ...(isTimed(event) ? none : [requiredField('eventTime')]),
    ...(type === 'Normal' || type === 'Warning' ? none : [invalidField('type', '', `has invalid value: ${type}`)]),
    ...unsetFields
      .filter((field) => !isEmpty(event[field]))
      .map((field) => invalidField(storedNames[field] ?? field, '', 'needs to be unset')),
  ]
}

function validateSeries({ series }: ApiDocument): readonly FieldError[] {
  if (!isJsonObject(series)) return none
  return [
    ...(Number(textAt(series, 'count')) < 2 ? [invalidField('series.count', '', 'should be at least 2')] : none),
    ...(textAt(series, 'lastObservedTime') === '' ? [requiredField('series.lastObservedTime')] : none),
  ]
}

const fixedFields = [
  ...['regarding', 'reason', 'note', 'type', 'action', 'related', 'reportingController', 'reportingInstance'],
  ...unsetFields,
]

/** Checks an update: only the series may change. */
export function validateGroupEventUpdate(event: ApiDocument, old: ApiDocument): readonly FieldError[] {
  const changed = fixedFields.filter((field) => !isSame(event[field], old[field]))
  const isMoved = instantOf(event['eventTime']) !== instantOf(old['eventTime'])
  return [
    ...(isDeepStrictEqual(event['series'], old['series']) ? none : validateSeries(event)),
    ...changed.map((field) =>
      immutable(field === 'reportingController' ? field : (storedNames[field] ?? field), event[field]),
    ),
    ...(isMoved ? [immutable('eventTime', event['eventTime'])] : none),
  ]
}

function immutable(field: string, value: Json | undefined): FieldError {
  return invalidField(field, value ?? null, 'field is immutable')
}

function isSame(value: Json | undefined, old: Json | undefined): boolean {
  return isDeepStrictEqual(value, old) || (isEmpty(value) && isEmpty(old))
}

/** Checks whether Kubernetes treats a value like an absent field. */
function isEmpty(value: Json | undefined): boolean {
  if (isJsonObject(value)) return Object.values(value).every(isEmpty)
  return value === undefined || value === null || value === '' || value === 0
}

/** Returns a time in one form, to the microsecond: the text may be in any zone. */
function instantOf(time: Json | undefined): string {
  const text = textAt(valueAt(time))
  return text === '' ? '' : `${Date.parse(text)} ${/\.\d{3}(\d*)/.exec(text)?.[1] ?? ''}`
}
