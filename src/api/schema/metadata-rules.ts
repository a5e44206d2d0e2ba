import type { Json, JsonObject } from '../../model/api-object.ts'
import { isLabelValue, isQualifiedName } from '../../model/selector.ts'
import { listAt, objectAt } from '../document.ts'
import { type FieldError, invalidField, tooLongField } from './field-error.ts'

const maxAnnotationBytes = 256 * 1024

export const qualifiedNameRule =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
export const labelValueRule =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

/** The rules for labels, annotations and finalizers wherever metadata stands; what has another type than declared is no text and not looked at. */
export function checkMetadata(metadata: JsonObject, path: string): readonly FieldError[] {
  return [
    ...checkLabels(textsAt(metadata, 'labels'), `${path}.labels`),
    ...checkAnnotations(textsAt(metadata, 'annotations'), `${path}.annotations`),
    ...checkFinalizers(listAt(metadata, 'finalizers').filter(isText), `${path}.finalizers`),
  ]
}

function textsAt(metadata: JsonObject, field: string): readonly (readonly [string, string])[] {
  const entries: [string, string][] = []
  for (const [key, value] of Object.entries(objectAt(metadata, field))) if (isText(value)) entries.push([key, value])
  return entries
}

function isText(value: Json | undefined): value is string {
  return typeof value === 'string'
}

function checkLabels(labels: readonly (readonly [string, string])[], path: string): readonly FieldError[] {
  return labels.flatMap(([key, value]) => [
    ...(isQualifiedName(key) ? [] : [invalidField(path, key, qualifiedNameRule)]),
    ...(isLabelValue(value) ? [] : [invalidField(path, value, labelValueRule)]),
  ])
}

function checkAnnotations(annotations: readonly (readonly [string, string])[], path: string): readonly FieldError[] {
  const bytes = annotations.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0)
  return [
    ...annotations
      .filter(([key]) => !isQualifiedName(key.toLowerCase()))
      .map(([key]) => invalidField(path, key, qualifiedNameRule)),
    ...(bytes > maxAnnotationBytes ? [tooLongField(path, maxAnnotationBytes)] : []),
  ]
}

function checkFinalizers(finalizers: readonly string[], path: string): readonly FieldError[] {
  return finalizers
    .filter((finalizer) => !isQualifiedName(finalizer))
    .map((finalizer) => invalidField(path, finalizer, qualifiedNameRule))
}
