import { PlatnetError } from '../../../../model/errors.ts'

type UpstreamErrorCode = 'timeout' | 'unreachable' | 'closed' | 'all-down' | 'loop' | 'bad-answer'

/** An upstream gave no answer; the code says why. */
export class UpstreamError extends PlatnetError<UpstreamErrorCode> {}
