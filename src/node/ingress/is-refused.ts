import { ApiError } from '../../client/index.ts'

/** Tells whether the server does not hand out what was asked for, or does not have it. */
export function isRefused(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 403 || error.status === 404)
}
