import { formatAge } from '../../model/age.ts'
import type { Json, JsonObject } from '../../model/api-object.ts'
import type { ApiDocument } from '../document.ts'
import type { TableView } from '../negotiate/accept.ts'
import { apiVersionOf, type Column, type Resource } from '../resources/resource.ts'
import { descriptionOf } from '../schema/kind-tables.ts'
import { partialMetadata } from './partial-metadata.ts'

/** Returns the columns of a Table in order; all rows share them. */
function columnsOf(resource: Resource, now: Date): readonly Column[] {
  const hidesName = resource.hidesName === true
  const name: Column = {
    name: 'Name',
    type: 'string',
    description: descriptionOf('meta.v1.ObjectMeta', 'name') ?? '',
    priority: hidesName ? 1 : 0,
    cell: resource.nameCell ?? (({ metadata }) => metadata.name ?? ''),
  }
  const age: Column = {
    name: 'Age',
    type: 'string',
    description: descriptionOf('meta.v1.ObjectMeta', 'creationTimestamp') ?? '',
    priority: 0,
    cell: (document) => ageCell(document, now),
  }
  const shown = resource.columns.filter(({ priority }) => priority === 0)
  const wide = resource.columns.filter(({ priority }) => priority > 0)
  const ages = resource.hidesAge === true ? [] : [age]
  return hidesName ? [...shown, ...ages, ...wide, name] : [name, ...shown, ...ages, ...wide]
}

export interface TableOptions {
  readonly now: Date
  /** The metadata of the list: resourceVersion, continue. */
  readonly metadata: JsonObject
  /** Whether the Table holds column definitions: in a watch only the first event does. */
  readonly hasColumns: boolean
  readonly view: TableView
  /** Whether the object is that of a bookmark: it has metadata alone, so its cells are null. */
  readonly isBookmark?: boolean
}

/** Returns a Table of meta.k8s.io: the form that `kubectl get` prints without knowledge of the kind. */
export function toTable(resource: Resource, documents: readonly ApiDocument[], options: TableOptions): JsonObject {
  const columns = columnsOf(resource, options.now)
  return { ...tableHead(columns, options), rows: documents.map((document) => toRow(columns, document, options)) }
}

/** Yields a Table as JSON text, row by row: each item is parsed when its row is requested. */
export function* toTableParts(
  resource: Resource,
  items: Iterable<string>,
  options: TableOptions,
): Generator<string, void> {
  const columns = columnsOf(resource, options.now)
  const head = JSON.stringify(tableHead(columns, options))
  const type = { kind: resource.kind, apiVersion: apiVersionOf(resource) }
  yield `${head.slice(0, -1)},"rows":[`
  let separator = ''
  for (const item of items) {
    const document: ApiDocument = { ...type, ...(JSON.parse(item) as ApiDocument) }
    yield separator + JSON.stringify(toRow(columns, document, options))
    separator = ','
  }
  yield ']}'
}

function tableHead(columns: readonly Column[], { metadata, hasColumns, view }: TableOptions): JsonObject {
  const columnDefinitions = hasColumns ? columns.map(columnDefinition) : null
  return { kind: 'Table', apiVersion: view.apiVersion, metadata, columnDefinitions }
}

function toRow(columns: readonly Column[], document: ApiDocument, options: TableOptions): JsonObject {
  const { now, view, isBookmark = false } = options
  return {
    cells: columns.map(({ cell }) => (isBookmark ? null : cell(document, now))),
    object: rowObject(document, view),
  }
}

function rowObject(document: ApiDocument, { rows, apiVersion }: TableView): JsonObject | null {
  if (rows === 'object') return document
  return rows === 'nothing' ? null : partialMetadata(document, apiVersion)
}

function columnDefinition({ name, type, priority, description = '', format }: Column): Json {
  return { name, type, format: name === 'Name' ? 'name' : (format ?? ''), description, priority }
}

function ageCell({ metadata }: ApiDocument, now: Date): string {
  const createdMs = Date.parse(metadata.creationTimestamp ?? '')
  return Number.isNaN(createdMs) ? '<unknown>' : formatAge(now.getTime() - createdMs)
}
