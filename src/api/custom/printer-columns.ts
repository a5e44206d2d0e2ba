import { formatAge } from '../../model/age.ts'
import type { Json, JsonObject } from '../../model/api-object.ts'
import { type ApiDocument, isJsonObject, textAt } from '../document.ts'
import { numberOf } from '../exact-json.ts'
import type { Column } from '../resources/resource.ts'
import { hasTextFormat } from '../schema/formats.ts'
import { type JsonPath, parseJsonPath, readJsonPath } from './json-path.ts'

const types = ['string', 'integer', 'number', 'boolean', 'date'] as const

/** Returns `additionalPrinterColumns` as columns of a Table. */
export function printerColumns(columns: readonly Json[]): readonly Column[] {
  return columns.filter(isJsonObject).map(toColumn)
}

function toColumn(raw: JsonObject): Column {
  const text = textAt(raw, 'jsonPath')
  const path = parseJsonPath(text)
  const type = types.find((each) => each === raw['type']) ?? 'string'
  return {
    name: textAt(raw, 'name'),
    type,
    description: textAt(raw, 'description') || `Custom resource definition column (in JSONPath format): ${text}`,
    priority: numberOf(raw['priority']) ?? 0,
    cell: (document, now) => toCell(type, path, document, now),
  }
}

function toCell(type: Column['type'], path: JsonPath, document: ApiDocument, now: Date): Json {
  const [value] = readJsonPath(path, document)
  if (type === 'date') return dateCell(value, now)
  if (value === undefined || value === null) return null
  if (type === 'string')
    return typeof value === 'object' && numberOf(value) === undefined ? JSON.stringify(value) : cellText(value)
  if (type === 'boolean') return typeof value === 'boolean' ? value : null
  const number = numberOf(value)
  if (number === undefined) return null
  return type === 'integer' ? Math.trunc(number) : number
}

function cellText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Returns the age since a time; an empty text is a time that was never set. */
function dateCell(value: Json | undefined, now: Date): string | null {
  if (typeof value !== 'string') return null
  if (value === '') return '<unknown>'
  return hasTextFormat('date-time', value) ? formatAge(now.getTime() - Date.parse(value)) : '<invalid>'
}
