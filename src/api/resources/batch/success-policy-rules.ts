import type { Json, JsonObject } from '../../../model/api-object.ts'
import { listAt, objectAt, textAt } from '../../document.ts'
import { nonNegative } from '../../schema/checks.ts'
import { type FieldError, invalidField, requiredField, tooLongField, tooManyField } from '../../schema/field-error.ts'
import { countIndexes, parseIndexes } from './indexes.ts'

const maxRules = 20
const maxIndexesBytes = 64 * 1024

/** Checks `successPolicy` of the spec of an Indexed Job. */
export function successPolicy(spec: JsonObject, path: string): readonly FieldError[] {
  const rules = listAt(spec, 'successPolicy', 'rules')
  const completions = Number(textAt(spec, 'completions') || 0)
  const why = 'at least one rules must be specified when the successPolicy is specified'
  return [
    ...(rules.length === 0 ? [requiredField(`${path}.rules`, why)] : []),
    ...(rules.length > maxRules ? [tooManyField(`${path}.rules`, rules.length, maxRules)] : []),
    ...rules.flatMap((rule, index) => checkRule(rule, `${path}.rules[${index}]`, completions)),
  ]
}

function checkRule(rule: Json, path: string, completions: number): readonly FieldError[] {
  const { succeededIndexes, succeededCount } = objectAt(rule)
  const [indexes, count] = [succeededIndexes ?? undefined, succeededCount ?? undefined]
  if (indexes === undefined && count === undefined)
    return [requiredField(path, 'at least one of succeededCount or succeededIndexes must be specified')]
  const parsed = indexes === undefined ? [] : parseIndexes(textAt(indexes), completions)
  const named = indexes === undefined ? undefined : typeof parsed === 'string' ? 0 : countIndexes(parsed)
  return [
    ...(indexes === undefined ? [] : checkIndexes(textAt(indexes), parsed, `${path}.succeededIndexes`)),
    ...(count === undefined ? [] : checkCount(count, `${path}.succeededCount`, completions, named)),
  ]
}

function checkIndexes(text: string, parsed: unknown, path: string): readonly FieldError[] {
  return [
    ...(text.length > maxIndexesBytes ? [tooLongField(path, maxIndexesBytes)] : []),
    ...(typeof parsed === 'string' ? [invalidField(path, text, `error parsing succeededIndexes: ${parsed}`)] : []),
  ]
}

function checkCount(value: Json, path: string, completions: number, named: number | undefined): readonly FieldError[] {
  const count = Number(textAt(value))
  const most = (limit: number, what: string) =>
    count > limit ? [invalidField(path, value, `must be less than or equal to ${limit} (${what})`)] : []
  return [
    ...nonNegative(value, path),
    ...most(completions, 'the number of specified completions'),
    ...(named === undefined ? [] : most(named, 'the number of indexes in the specified succeededIndexes field')),
  ]
}
