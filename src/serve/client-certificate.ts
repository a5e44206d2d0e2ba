import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'

/** Who a request comes from. */
export interface Identity {
  readonly name: string
  readonly groups: readonly string[]
  readonly uid?: string | undefined
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined
}

/** The identity in a client certificate that the listener's CA signed (CN is the user, each O a group); undefined without one. */
export function certifiedIdentity({ socket }: IncomingMessage): Pick<Identity, 'name' | 'groups'> | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined
  // Null where the client has left, whatever the types say.
  const subject = (socket.getPeerCertificate() as ReturnType<TLSSocket['getPeerCertificate']> | null)?.subject
  const name = asList(subject?.CN)[0]
  return name === undefined ? undefined : { name, groups: [...asList(subject?.O), 'system:authenticated'] }
}

function asList(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return []
  return typeof value === 'string' ? [value] : value
}
