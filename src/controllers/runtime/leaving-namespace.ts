import { ApiError } from '../../client/index.ts'

/** Checks whether the API server refused a create because its namespace is being deleted: no retry can succeed. */
export function isInLeavingNamespace(error: unknown): boolean {
  return error instanceof ApiError && error.causes.some(({ reason }) => reason === 'NamespaceTerminating')
}
