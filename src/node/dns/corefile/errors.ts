import { PlatnetError } from '../../../model/errors.ts'

type CorefileErrorCode =
  | 'syntax'
  | 'import'
  | 'file'
  | 'unknown-directive'
  | 'unknown-option'
  | 'bad-value'
  | 'conflict'

/** Where something stands in a Corefile or a file that it imports. */
export interface Place {
  readonly file: string
  /** From 1. */
  readonly line: number
}

/** A Corefile that cannot be used. The message begins with `file:line - `. */
export class CorefileError extends PlatnetError<CorefileErrorCode> {
  readonly place: Place

  constructor(code: CorefileErrorCode, place: Place, message: string, details: { cause?: unknown } = {}) {
    super(code, `${place.file}:${place.line} - ${message}`, details)
    this.place = { file: place.file, line: place.line }
  }
}
