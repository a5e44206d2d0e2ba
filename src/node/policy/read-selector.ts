import { isLabelValue, isQualifiedName, type LabelRequirement, type LabelSelector } from '../../model/selector.ts'
import { type FieldReader, fields } from '../state/index.ts'

/** A selector, and whether all of it could be read. */
export interface ReadSelector {
  readonly selector: LabelSelector
  /** False if conditions are left out of `selector`, which then matches more than the object says. */
  readonly isWhole: boolean
}

const operators: Readonly<Record<string, LabelRequirement['operator']>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: 'absent',
}

const expectedKey = 'a label key ([prefix/]name)'
const selectorFields = new Set(['matchLabels', 'matchExpressions'])

/** Reads `{matchLabels, matchExpressions}`; absent, null and empty parts have no conditions. */
export function readSelector(reader: FieldReader, json: unknown, path: string): ReadSelector {
  const before = reader.problems.length
  const object = reader.optional(fields.record, json, path) ?? {}
  reportUnknownFields(reader, object, selectorFields, path)
  const labels = reader.optional(fields.record, object['matchLabels'], `${path}.matchLabels`) ?? {}
  const equalities = Object.entries(labels).flatMap(([key, value]) =>
    readEquality(reader, key, value, `${path}.matchLabels[${JSON.stringify(key).slice(0, 100)}]`),
  )
  const expressions = fields.readEach(reader, object['matchExpressions'], `${path}.matchExpressions`, (element, at) =>
    readExpression(reader, element, at),
  )
  return { selector: [...equalities, ...expressions], isWhole: reader.problems.length === before }
}

/** Reports fields that this reader does not know: a misspelled field would otherwise allow what it was meant to restrict. */
export function reportUnknownFields(
  reader: FieldReader,
  object: fields.JsonRecord,
  known: ReadonlySet<string>,
  path: string,
): void {
  for (const field of Object.keys(object).filter((name) => !known.has(name) && object[name] !== undefined))
    reader.report(path, `only the fields ${[...known].join(', ')}`, field)
}

function readEquality(reader: FieldReader, key: string, value: unknown, path: string): readonly LabelRequirement[] {
  if (!isQualifiedName(key)) reader.report(path, expectedKey, key)
  else if (typeof value !== 'string' || !isLabelValue(value)) reader.report(path, fields.labelValue.expected, value)
  else return [{ key, operator: 'in', values: [value] }]
  return []
}

function readExpression(reader: FieldReader, element: fields.JsonRecord, path: string): LabelRequirement | undefined {
  const { key, operator: operatorName } = element
  const operator = typeof operatorName === 'string' && Object.hasOwn(operators, operatorName) && operators[operatorName]
  if (typeof key !== 'string' || !isQualifiedName(key)) {
    reader.report(`${path}.key`, expectedKey, key)
    return undefined
  }
  if (operator === undefined || operator === false) {
    reader.report(`${path}.operator`, Object.keys(operators).join(', '), operatorName)
    return undefined
  }
  const values = readLabelValues(reader, element['values'], `${path}.values`)
  if (values === undefined) return undefined
  const takesValues = operator === 'in' || operator === 'notin'
  if (takesValues === values.length > 0) return { key, operator, values }
  reader.report(`${path}.values`, takesValues ? 'at least one value' : 'no values', element['values'])
  return undefined
}

function readLabelValues(reader: FieldReader, json: unknown, path: string): readonly string[] | undefined {
  const list = json === undefined || json === null ? [] : reader.required(fields.list, json, path)
  if (list === undefined) return undefined
  const values = list.filter((value) => typeof value === 'string' && isLabelValue(value))
  if (values.length === list.length) return values as string[]
  reader.report(path, `a list of label values`, json)
  return undefined
}
