import type { FieldError } from '../schema/field-error.ts'
import { invalid, type StatusError } from '../status.ts'

const kinds: Readonly<Record<string, string>> = {
  POST: 'CreateOptions',
  PUT: 'UpdateOptions',
  PATCH: 'PatchOptions',
  DELETE: 'DeleteOptions',
}

/** Returns the 422 for a request option with an invalid value. */
export function invalidOption(method: string | undefined, error: FieldError): StatusError {
  return invalid({ group: 'meta.k8s.io', plural: '', kind: kinds[method ?? ''] ?? 'ListOptions' }, '', [error])
}
