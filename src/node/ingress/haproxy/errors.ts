import { PlatnetError } from '../../../model/errors.ts'

type HaproxyErrorCode =
  /** A text from outside that no line of a configuration, map or command may hold. */
  | 'unsafe-text'
  /** haproxy does not take the files: `haproxy -c` or the new worker says why. */
  | 'refused-config'
  /** A command of the runtime socket was answered by an error. */
  | 'refused-command'
  /** The socket cannot be reached, or closed before the answer ended. */
  | 'no-answer'
  | 'timeout'
  | 'too-long-answer'
  /** An answer of another shape than expected. */
  | 'unreadable-answer'
  /** haproxy is missing, or ended while it started. */
  | 'not-started'
  /** A reload made no worker that serves. */
  | 'not-reloaded'

/** haproxy did not do what was asked of it. */
export class HaproxyError extends PlatnetError<HaproxyErrorCode> {}
