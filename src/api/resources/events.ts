import { formatAge } from '../../model/age.ts'
import type { Json } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { type ApiDocument, textAt } from '../document.ts'
import { checkPathSegment } from '../schema/names.ts'
import { defineKind } from './define-kind.ts'
import { storedNames, validateCoreEvent, validateGroupEvent, validateGroupEventUpdate } from './event-rules.ts'
import { column, type Resource } from './resource.ts'

/** The kind Event of the core group: all Events are stored in this form. */
export function coreEvents(): Resource {
  return defineKind({
    group: '',
    version: 'v1',
    kind: 'Event',
    plural: 'events',
    shortNames: ['ev'],
    namespaced: true,
    defaults: { source: { default: {} }, reportingComponent: { default: '' }, reportingInstance: { default: '' } },
    selectableFields: {
      ...referenceFields('involvedObject'),
      reason: (event) => textAt(event['reason']),
      type: (event) => textAt(event['type']),
      reportingComponent: (event) => textAt(event['reportingComponent']),
      source: (event) => textAt(event['source'], 'component') || textAt(event['reportingComponent']),
    },
    hidesAge: true,
    hidesName: true,
    columns: eventColumns('involvedObject', 'message', ['lastTimestamp', 'firstTimestamp', 'count', 'source']),
    strategy: {
      validateName: checkPathSegment,
      takesAnyFinalizer: true,
      createsOnUpdate: true,
      validate: validateCoreEvent,
    },
  })
}

const shownNames = Object.fromEntries(Object.entries(storedNames).map(([shown, stored]) => [stored, shown]))

/** The kind Event of group events.k8s.io: the stored Events of the core group with the field names of the newer group. */
export function groupEvents(dialect: Dialect): Resource {
  return defineKind({
    group: dialect.groups.events,
    version: 'v1',
    kind: 'Event',
    plural: 'events',
    shortNames: ['ev'],
    namespaced: true,
    selectableFields: {
      ...referenceFields('regarding'),
      reason: (event) => textAt(event['reason']),
      type: (event) => textAt(event['type']),
      reportingController: (event) => textAt(event['reportingController']),
    },
    hidesAge: true,
    hidesName: true,
    columns: eventColumns('regarding', 'note', [
      'deprecatedLastTimestamp',
      'deprecatedFirstTimestamp',
      'deprecatedCount',
      'deprecatedSource',
    ]),
    strategy: {
      createsOnUpdate: true,
      validate: validateGroupEvent,
      validateUpdate: validateGroupEventUpdate,
    },
    storage: {
      prefix: 'events',
      apiVersion: 'v1',
      conversion: {
        toStored: (event) => rename(event, storedNames),
        fromStored: (event) => rename(event, shownNames),
      },
    },
  })
}

function rename(event: ApiDocument, names: Readonly<Record<string, string>>): ApiDocument {
  const { kind, apiVersion, metadata, ...fields } = event
  const renamed = Object.entries(fields).map(([field, value]) => [names[field] ?? field, value])
  return { kind, apiVersion, metadata, ...Object.fromEntries(renamed) }
}

function referenceFields(field: string): Resource['selectableFields'] {
  const parts = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath']
  return Object.fromEntries(
    parts.map((part) => [`${field}.${part}`, (event: ApiDocument) => textAt(event[field], part)]),
  )
}

/** The columns of `kubectl get events`; `old` names the fields of the older form: last, first, count, source. */
function eventColumns(
  reference: string,
  message: string,
  [last, first, count, source]: readonly [string, string, string, string],
): Resource['columns'] {
  const objectCell = (event: ApiDocument): Json =>
    `${textAt(event[reference], 'kind').toLowerCase()}/${textAt(event[reference], 'name')}`
  const since = (event: ApiDocument, now: Date, field: string): Json => {
    const series = textAt(event['series'], 'lastObservedTime')
    const time = (field === last && series) || textAt(event[field]) || textAt(event['eventTime'])
    const ageMs = now.getTime() - Date.parse(time)
    return Number.isNaN(ageMs) ? '<unknown>' : formatAge(ageMs)
  }
  const countCell = (event: ApiDocument): Json => Number(textAt(event['series'], 'count') || textAt(event[count]) || 1)
  return [
    { ...column('Last Seen', () => ''), cell: (event, now) => since(event, now, last) },
    column('Type', (event) => textAt(event['type'])),
    column('Reason', (event) => textAt(event['reason'])),
    column('Object', objectCell),
    column('Subobject', (event) => textAt(event[reference], 'fieldPath'), { wide: true }),
    column('Source', (event) => sourceCell(event, source), { wide: true }),
    column('Message', (event) => textAt(event[message]).trim()),
    { ...column('First Seen', () => '', { wide: true }), cell: (event, now) => since(event, now, first) },
    column('Count', countCell, { wide: true }),
  ]
}

function sourceCell(event: ApiDocument, source: string): string {
  const parts = [
    textAt(event[source], 'component') || textAt(event['reportingComponent']),
    textAt(event[source], 'host'),
  ]
  return parts.filter((part) => part !== '').join(', ')
}
