import { PlatnetError } from '../../model/errors.ts'

/** The errors that keep this node from serving DNS. */
export type DnsErrorCode = 'notrack-failed' | 'listen-failed' | 'not-allowed' | 'worker-ended' | 'bad-corefile'

export class DnsError extends PlatnetError<DnsErrorCode> {}
