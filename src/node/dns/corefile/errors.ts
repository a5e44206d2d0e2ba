import { PlatnetError } from '../../../model/errors.ts'

type CorefileErrorCode =
  | 'syntax'
  | 'import'
  | 'file'
  | 'unknown-directive'
  | 'unknown-option'
  | 'bad-value'
  | 'conflict'

/** A line of a Corefile or of a file that it imports. */
export interface SourceLocation {
  readonly file: string
  /** The first line is 1. */
  readonly line: number
}

/** A Corefile cannot be used. The message begins with `file:line - `. */
export class CorefileError extends PlatnetError<CorefileErrorCode> {
  readonly location: SourceLocation

  constructor(code: CorefileErrorCode, location: SourceLocation, message: string, details: { cause?: unknown } = {}) {
    super(code, `${location.file}:${location.line} - ${message}`, details)
    this.location = { file: location.file, line: location.line }
  }
}
