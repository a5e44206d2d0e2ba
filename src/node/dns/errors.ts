import { PlatnetError } from '../../model/errors.ts'

/** The errors that keep this node from serving DNS. */
export type DnsErrorCode = 'notrack-failed' | 'listen-failed' | 'not-allowed' | 'worker-ended' | 'bad-corefile'

export class DnsError extends PlatnetError<DnsErrorCode> {}

/** Builds the error of a socket that could not be opened. The message alone reaches the log of the main thread, so it names the options. */
export function listenFailure(address: string, port: number, transport: 'TCP' | 'UDP', cause: unknown): DnsError {
  const isTaken = cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE'
  const reason = isTaken
    ? ': another process listens there (--cluster-dns chooses the address, the Corefile the port)'
    : ''
  return new DnsError('listen-failed', `cannot listen on ${address} port ${port} over ${transport}${reason}`, { cause })
}
