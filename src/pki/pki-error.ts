import { PlatnetError } from '../model/errors.ts'

export type PkiErrorCode =
  | 'unreadable'
  | 'unwritable'
  /** The CA's certificate or key has the wrong type or cannot be parsed. */
  | 'ca-invalid'
  /** Certificate and key of the CA do not belong together. */
  | 'ca-mismatch'
  | 'ca-key-missing'
  | 'ca-expired'
  | 'invalid-request'
  | 'token-invalid'
  | 'key-invalid'

export class PkiError extends PlatnetError<PkiErrorCode> {}
