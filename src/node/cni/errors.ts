import { PlatnetError } from '../../model/errors.ts'

/**
 * `no-network`: no valid configuration; `plugin-failed`: a plugin said no, or could not be started; `plugin-timeout`: it was ended at the
 * deadline; `bad-output`: what it printed is not what the specification wants; `cancelled`: the caller gave up;
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

/** No fault of a file or plugin: whoever asked wants no answer any more. */
export function isCancelled(error: unknown): boolean {
  return error instanceof CniError && error.code === 'cancelled'
}
