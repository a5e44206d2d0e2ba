import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'

/** Who asks. */
export interface User {
  readonly name: string
  readonly groups: readonly string[]
}

export interface StaticToken {
  readonly token: string
  readonly user: User
}

export const anonymous: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] }

/** Undefined for credentials that are wrong; `anonymous` where none were given. */
export type Authenticator = (request: IncomingMessage) => User | undefined

/** A certificate of the cluster's CA (CN is the user, each O a group) or else a bearer token. */
export function createAuthenticator(tokens: readonly StaticToken[]): Authenticator {
  const users = new Map(tokens.map(({ token, user }) => [digest(token), user]))
  return (request) => {
    const certified = userOfCertificate(request)
    if (certified !== undefined) return certified
    const { authorization } = request.headers
    if (authorization === undefined) return anonymous
    const token = /^bearer +(\S+)$/i.exec(authorization)?.[1]
    return token === undefined ? undefined : users.get(digest(token))
  }
}

/** Looking up digests takes no time that depends on how much of a token was right. */
function digest(token: string): string {
  return createHash('sha256').update(token).digest('base64')
}

function userOfCertificate({ socket }: IncomingMessage): User | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined
  const { subject } = socket.getPeerCertificate()
  const name = asList(subject?.CN)[0]
  if (name === undefined) return undefined
  return { name, groups: [...asList(subject?.O), 'system:authenticated'] }
}

function asList(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return []
  return typeof value === 'string' ? [value] : value
}
