import type { Json, JsonObject } from '../../model/api-object.ts'
import type { ApiDocument } from '../document.ts'
import type { TableForm } from '../negotiate/accept.ts'
import type { Column, Resource } from '../resources/resource.ts'
import { formatAge } from './age.ts'
import { partialMetadata } from './partial-metadata.ts'

/** Which columns a Table shows, in order; the same for every row. */
function columnsOf(resource: Resource, now: Date): readonly Column[] {
  const hidesName = resource.hidesName === true
  const name: Column = {
    name: 'Name',
    type: 'string',
    priority: hidesName ? 1 : 0,
    cell: ({ metadata }) => metadata.name ?? '',
  }
  const age: Column = { name: 'Age', type: 'string', priority: 0, cell: (document) => ageCell(document, now) }
  const shown = resource.columns.filter(({ priority }) => priority === 0)
  const wide = resource.columns.filter(({ priority }) => priority > 0)
  const ages = resource.hidesAge === true ? [] : [age]
  return hidesName ? [...shown, ...ages, ...wide, name] : [name, ...shown, ...ages, ...wide]
}

export interface TableOptions {
  readonly now: Date
  /** Metadata of the list: resourceVersion, continue. */
  readonly metadata: JsonObject
  /** Only the first event of a watch carries them. */
  readonly hasColumns: boolean
  readonly form: TableForm
}

/** A meta.k8s.io/v1 Table: what `kubectl get` prints without knowing the kind. */
export function toTable(resource: Resource, documents: readonly ApiDocument[], options: TableOptions): JsonObject {
  const columns = columnsOf(resource, options.now)
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: options.metadata,
    ...(options.hasColumns ? { columnDefinitions: columns.map(columnDefinition) } : { columnDefinitions: null }),
    rows: documents.map((document) => ({
      cells: columns.map(({ cell }) => cell(document, options.now)),
      object: rowObject(document, options.form),
    })),
  }
}

function rowObject(document: ApiDocument, form: TableForm): JsonObject | null {
  if (form === 'table-objects') return document
  return form === 'table-cells' ? null : partialMetadata(document)
}

function columnDefinition({ name, type, priority, description = '' }: Column): Json {
  return { name, type, format: name === 'Name' ? 'name' : '', description, priority }
}

function ageCell({ metadata }: ApiDocument, now: Date): string {
  const createdMs = Date.parse(metadata.creationTimestamp ?? '')
  return Number.isNaN(createdMs) ? '<unknown>' : formatAge(Math.max(0, now.getTime() - createdMs))
}
