import { PlatnetError } from '../../model/errors.ts'

type PodErrorCode = 'not-running' | 'not-possible' | 'no-logs' | 'no-address' | 'invalid-annotation' | 'volume-failed'

/** Something that was asked of a pod of this node is not possible. */
export class PodError extends PlatnetError<PodErrorCode> {}

/** A program that a probe ran in a container took longer than it may. */
export function overdue([program]: readonly string[], timeoutMs: number): PodError {
  return new PodError('not-running', `${program} did not end within ${timeoutMs} ms`)
}

/** Whether the error is about a volume of a pod. */
export function isVolumeFailure(error: unknown): error is PodError {
  return error instanceof PodError && error.code === 'volume-failed'
}
