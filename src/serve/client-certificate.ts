import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'

/** The identity behind a request. */
export interface Identity {
  readonly name: string
  readonly groups: readonly string[]
  readonly uid?: string | undefined
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined
}

/** Reads the identity of a client certificate that the listener's CA signed: CN is the user, each O a group. Undefined without one. */
export function certifiedIdentity({ socket }: IncomingMessage): Pick<Identity, 'name' | 'groups'> | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined
  // Node returns null here once the client has disconnected, although the types exclude it.
  const subject = (socket.getPeerCertificate() as ReturnType<TLSSocket['getPeerCertificate']> | null)?.subject
  const name = asList(subject?.CN)[0]
  return name === undefined ? undefined : { name, groups: [...asList(subject?.O), 'system:authenticated'] }
}

function asList(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return []
  return typeof value === 'string' ? [value] : value
}
