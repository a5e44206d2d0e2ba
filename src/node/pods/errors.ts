import { PlatnetError } from '../../model/errors.ts'

type PodErrorCode =
  | 'not-running'
  | 'not-possible'
  | 'no-logs'
  | 'EACCES'
  | 'no-address'
  | 'invalid-annotation'
  | 'volume-failed'

/** A request for a pod of this node is not possible. */
export class PodError extends PlatnetError<PodErrorCode> {}

/** Builds the error of a probe's program that exceeded its time limit. */
export function overdue([program]: readonly string[], timeoutMs: number): PodError {
  return new PodError('not-running', `${program} did not end within ${timeoutMs} ms`)
}

/** Tells whether the error concerns a volume of a pod. */
export function isVolumeFailure(error: unknown): error is PodError {
  return error instanceof PodError && error.code === 'volume-failed'
}
