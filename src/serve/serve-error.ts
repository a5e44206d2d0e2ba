import { PlatnetError } from '../model/errors.ts'

/** `address-in-use`: another process listens there, also on a unix socket. `not-a-socket`: the path is a file of another type. */
export type ServeErrorCode =
  | 'address-in-use'
  | 'address-denied'
  | 'address-unavailable'
  | 'not-a-socket'
  | 'listen-failed'

export class ServeError extends PlatnetError<ServeErrorCode> {}

const codes: Readonly<Record<string, readonly [code: ServeErrorCode, reason: string, remedy: string]>> = {
  EADDRINUSE: ['address-in-use', 'another process listens there', 'stop that process or choose another port'],
  EACCES: [
    'address-denied',
    'this user may not listen there',
    'run as root, or choose a port above 1023 or a path this user may write',
  ],
  EADDRNOTAVAIL: ['address-unavailable', 'this machine has no such address', 'choose an address of this machine'],
}

/** Builds the error of a failed listen; `where` is the address, such as `0.0.0.0:6443`, `option` the flag that chooses the port. */
export function toServeError(name: string, where: string, cause: unknown, option?: string): ServeError {
  if (cause instanceof ServeError) return cause
  const systemCode = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const [code, reason, remedy] = codes[systemCode] ?? ['listen-failed', 'listening failed', 'see the cause']
  const remedyHere = option === undefined ? remedy : remedy.replace('another port', `another port with ${option}`)
  return new ServeError(code, `${name} cannot listen on ${where}: ${reason}`, {
    object: where,
    remedy: remedyHere,
    cause,
  })
}
