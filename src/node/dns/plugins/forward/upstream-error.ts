import { PlatnetError } from '../../../../model/errors.ts'

type UpstreamErrorCode = 'timeout' | 'unreachable' | 'closed' | 'all-down' | 'loop' | 'bad-answer'

/** Why an upstream gave no answer. */
export class UpstreamError extends PlatnetError<UpstreamErrorCode> {}
