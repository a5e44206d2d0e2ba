import type { FieldError } from '../schema/field-error.ts'
import { invalid, type StatusError } from '../status.ts'

const kinds: Readonly<Record<string, string>> = {
  POST: 'CreateOptions',
  PUT: 'UpdateOptions',
  PATCH: 'PatchOptions',
  DELETE: 'DeleteOptions',
}

/** The 422 for an option of a request that has a value it cannot have. */
export function invalidOption(method: string | undefined, error: FieldError): StatusError {
  return invalid({ group: 'meta.k8s.io', plural: '', kind: kinds[method ?? ''] ?? 'ListOptions' }, '', [error])
}
