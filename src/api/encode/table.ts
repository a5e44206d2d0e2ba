import type { Json, JsonObject } from '../../model/api-object.ts'
import type { ApiDocument } from '../document.ts'
import type { Column, Resource } from '../resources/resource.ts'

/** Which columns a Table shows, in order; the same for every row. */
function columnsOf(resource: Resource, now: Date): readonly Column[] {
  const name: Column = { name: 'Name', type: 'string', priority: 0, cell: ({ metadata }) => metadata.name ?? '' }
  const age: Column = { name: 'Age', type: 'string', priority: 0, cell: (document) => ageCell(document, now) }
  const shown = resource.columns.filter(({ priority }) => priority === 0)
  const wide = resource.columns.filter(({ priority }) => priority > 0)
  return [name, ...shown, age, ...wide]
}

export interface TableOptions {
  readonly now: Date
  /** Metadata of the list: resourceVersion, continue. */
  readonly metadata: JsonObject
  /** Only the first event of a watch carries them. */
  readonly hasColumns: boolean
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
      cells: columns.map(({ cell }) => cell(document)),
      object: partialMetadata(document),
    })),
  }
}

function columnDefinition({ name, type, priority }: Column): Json {
  return { name, type, format: name === 'Name' ? 'name' : '', description: '', priority }
}

function partialMetadata({ metadata }: ApiDocument): JsonObject {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata }
}

function ageCell({ metadata }: ApiDocument, now: Date): string {
  const createdMs = Date.parse(metadata.creationTimestamp ?? '')
  return Number.isNaN(createdMs) ? '<unknown>' : formatAge(Math.max(0, now.getTime() - createdMs))
}

/** `45s`, `3m20s`, `12m`, `5h10m`, `23h`, `2d4h`, `40d`, `3y`: two units while the first is small. */
export function formatAge(ageMs: number): string {
  const seconds = Math.floor(ageMs / 1000)
  const minutes = Math.floor(seconds / 60)
  const hours = Math.floor(minutes / 60)
  const days = Math.floor(hours / 24)
  if (seconds < 120) return `${seconds}s`
  if (minutes < 10) return withRest(minutes, 'm', seconds % 60, 's')
  if (hours < 3) return `${minutes}m`
  if (hours < 8) return withRest(hours, 'h', minutes % 60, 'm')
  if (days < 2) return `${hours}h`
  if (days < 8) return withRest(days, 'd', hours % 24, 'h')
  return days < 730 ? `${days}d` : `${Math.floor(days / 365)}y`
}

function withRest(count: number, unit: string, rest: number, restUnit: string): string {
  return rest === 0 ? `${count}${unit}` : `${count}${unit}${rest}${restUnit}`
}
