import { PlatnetError } from '../../model/errors.ts'

/**
 * `no-network`: no valid configuration; `plugin-failed`: a plugin reported an error or could not start; `plugin-timeout`: it was killed at
 * its time limit; `bad-output`: its output violates the specification; `cancelled`: the caller interrupted it;
 * `delete-failed`: at least one plugin could not undo its part; `not-supported`: the version of the list has no such operation.
 */
type CniErrorCode =
  | 'invalid-config'
  | 'invalid-sandbox'
  | 'no-network'
  | 'plugin-missing'
  | 'plugin-failed'
  | 'plugin-timeout'
  | 'bad-output'
  | 'cancelled'
  | 'delete-failed'
  | 'not-supported'

interface CniErrorDetails {
  readonly object?: string
  readonly remedy?: string
  readonly cause?: unknown
  /** The code of the plugin's own error (specification, "Error"). */
  readonly pluginCode?: number
}

export class CniError extends PlatnetError<CniErrorCode> {
  readonly pluginCode: number | undefined

  constructor(code: CniErrorCode, message: string, details: CniErrorDetails = {}) {
    super(code, message, details)
    this.pluginCode = details.pluginCode
  }
}

/** Builds the error of an operation that its caller interrupted. */
export function isCancelled(error: unknown): boolean {
  return error instanceof CniError && error.code === 'cancelled'
}
