import { PlatnetError } from '../../model/errors.ts'

type PodErrorCode = 'not-running' | 'no-logs' | 'no-address' | 'invalid-annotation'

/** Something that was asked of a pod of this node is not possible. */
export class PodError extends PlatnetError<PodErrorCode> {}
