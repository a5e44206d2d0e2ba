import {
  type FieldSelector,
  type LabelSelector,
  labelValue,
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
  SelectorError,
} from '../../model/selector.ts'
import type { ApiDocument } from '../document.ts'
import { collectionPrefix } from '../resources/keys.ts'
import type { Resource } from '../resources/resource.ts'
import { badRequest } from '../status.ts'

/** A value that all selected objects have. A watch is found by it among watches with other values. */
interface SelectedValue {
  /** The position of the value: `field:spec.nodeName`, `label:app`. */
  readonly place: string
  readonly value: string
  readonly read: (document: ApiDocument) => string | undefined
}

/** The objects that a list or watch selects. */
export interface Selection {
  /** Whether every object matches, so that none needs parsing. */
  readonly isEverything: boolean
  /** The only name that can match, where the selector has one. */
  readonly name: string | undefined
  /**
   * The value by which the watch is found; undefined where the selectors require no single value beside the object's
   * name.
   */
  readonly selectedValue: SelectedValue | undefined
  matches(document: ApiDocument): boolean
}

/** Parses selectors. Throws a 400 for invalid ones and for fields that the kind does not support. */
export function parseSelection(resource: Resource, labelSelector = '', fieldSelector = ''): Selection {
  const labels = parseOr400(() => parseLabelSelector(labelSelector))
  const fields = parseOr400(() => parseFieldSelector(fieldSelector))
  for (const { field } of fields) {
    if (!isSelectable(resource, field)) throw badRequest(`field label not supported: ${field}`)
  }
  return {
    isEverything: labels.length === 0 && fields.length === 0,
    name: fields.find(({ field, operator }) => field === 'metadata.name' && operator === '=')?.value,
    selectedValue: selectedField(resource, fields) ?? selectedLabel(labels),
    matches: (document) => matchesSelection(resource, labels, fields, document),
  }
}

/** Returns the required field value. Names and namespaces are left out, because they are in the key. */
function selectedField(resource: Resource, fields: FieldSelector): SelectedValue | undefined {
  const equality = fields.find(
    ({ field, operator }) => operator === '=' && Object.hasOwn(resource.selectableFields, field),
  )
  if (equality === undefined) return undefined
  const { field, value } = equality
  return { place: `field:${field}`, value, read: (document) => resource.selectableFields[field]?.(document) ?? '' }
}

function selectedLabel(labels: LabelSelector): SelectedValue | undefined {
  const equality = labels.find(({ operator, values }) => operator === 'in' && values.length === 1)
  const [value] = equality?.values ?? []
  if (equality === undefined || value === undefined) return undefined
  const { key } = equality
  return { place: `label:${key}`, value, read: ({ metadata }) => labelValue(metadata.labels, key) }
}

/**
 * Returns a prefix of all keys that can match: an object selected by name costs one look-up, not a scan of the
 * collection.
 */
export function selectionPrefix(resource: Resource, namespace: string | undefined, { name }: Selection): string {
  const isOneFolder = namespace !== undefined || !resource.namespaced
  return `${collectionPrefix(resource, namespace)}${isOneFolder && name !== undefined ? name : ''}`
}

function parseOr400<T>(parse: () => T): T {
  try {
    return parse()
  } catch (thrown) {
    throw thrown instanceof SelectorError ? badRequest(thrown.message, thrown) : thrown
  }
}

function isSelectable(resource: Resource, field: string): boolean {
  if (field === 'metadata.name') return true
  return (field === 'metadata.namespace' && resource.namespaced) || Object.hasOwn(resource.selectableFields, field)
}

function matchesSelection(
  resource: Resource,
  labels: LabelSelector,
  fields: FieldSelector,
  document: ApiDocument,
): boolean {
  const { metadata } = document
  const readField = (field: string) => {
    if (field === 'metadata.name') return metadata.name ?? ''
    if (field === 'metadata.namespace') return metadata.namespace ?? ''
    return resource.selectableFields[field]?.(document) ?? ''
  }
  return matchesLabels(labels, metadata.labels) && matchesFields(fields, readField)
}
