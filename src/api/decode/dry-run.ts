import { unsupportedField } from '../schema/field-error.ts'
import { invalidOption } from './invalid-option.ts'

/** Checks for `dryRun=All`, which does everything but the write. Throws a 422 for any other value. */
export function parseDryRun(query: URLSearchParams, method: string | undefined): boolean {
  return isDryRun(query.getAll('dryRun').filter(Boolean), method)
}

export function isDryRun(values: readonly string[], method: string | undefined): boolean {
  if (values.some((value) => value !== 'All'))
    throw invalidOption(method, unsupportedField('dryRun', [...values], ['All']))
  return values.length > 0
}
