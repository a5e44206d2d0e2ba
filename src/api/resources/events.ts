import type { Json } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { type ApiDocument, textAt } from '../document.ts'
import { type FieldError, invalidField, requiredField } from '../schema/field-error.ts'
import { defineKind } from './define-kind.ts'
import { column, type Resource } from './resource.ts'

/** Events of the core group, the form in which all Events are stored. */
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
    columns: eventColumns('involvedObject', 'message'),
    strategy: { validate: (event) => validatePlace(event, 'involvedObject') },
  })
}

/** How the newer group names what the core group stores. */
const storedNames: Readonly<Record<string, string>> = {
  regarding: 'involvedObject',
  note: 'message',
  reportingController: 'reportingComponent',
  deprecatedSource: 'source',
  deprecatedFirstTimestamp: 'firstTimestamp',
  deprecatedLastTimestamp: 'lastTimestamp',
  deprecatedCount: 'count',
}
const shownNames = Object.fromEntries(Object.entries(storedNames).map(([shown, stored]) => [stored, shown]))

/** The same Events under the group of their own, with its names. */
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
    columns: eventColumns('regarding', 'note'),
    strategy: { validate: validateGroupEvent },
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

function eventColumns(reference: string, message: string): Resource['columns'] {
  const objectCell = (event: ApiDocument): Json =>
    `${textAt(event[reference], 'kind').toLowerCase()}/${textAt(event[reference], 'name')}`
  return [
    column('Type', (event) => textAt(event['type'])),
    column('Reason', (event) => textAt(event['reason'])),
    column('Object', objectCell),
    column('Message', (event) => textAt(event[message]).trim()),
  ]
}

/** Events about objects without a namespace stand in `default`. */
function validatePlace(event: ApiDocument, reference: string): readonly FieldError[] {
  const about = textAt(event[reference], 'namespace')
  const { namespace = '' } = event.metadata
  if (about === namespace || (about === '' && namespace === 'default')) return []
  return [invalidField(`${reference}.namespace`, about, 'does not match event.namespace')]
}

function validateGroupEvent(event: ApiDocument): readonly FieldError[] {
  const isOfOldForm = event['eventTime'] === undefined || event['eventTime'] === null
  const needed = isOfOldForm && event['deprecatedSource'] !== undefined ? [] : neededFields
  const type = textAt(event['type'])
  return [
    ...validatePlace(event, 'regarding'),
    ...needed.filter((field) => textAt(event[field]) === '').map((field) => requiredField(field)),
    ...(needed.length === 0 || type === 'Normal' || type === 'Warning'
      ? []
      : [invalidField('type', type, 'has invalid value')]),
  ]
}

const neededFields = ['eventTime', 'reportingController', 'reportingInstance', 'action', 'reason']
