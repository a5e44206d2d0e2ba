import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'
import { certifiedIdentity } from '../../serve/index.ts'
import type { User } from '../identity.ts'

export interface StaticToken {
  readonly token: string
  readonly user: User
}

export const anonymous: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] }

/** Undefined for credentials that are wrong; `anonymous` where none were given. */
export type Authenticator = (request: IncomingMessage) => Promise<User | undefined>

interface TokenIdentity {
  readonly user: User
  /** Those asked for that the token is for. */
  readonly audiences: readonly string[]
}

/** Whose token this is. Audiences: of which the token must be for one; none means this server. */
export type TokenAuthenticator = (token: string, audiences: readonly string[]) => Promise<TokenIdentity | undefined>

/** A certificate of the cluster's CA (CN is the user, each O a group) or else a bearer token. */
export function createAuthenticator(authenticateToken: TokenAuthenticator): Authenticator {
  const certifiedUsers = new CertifiedUsers()
  return async (request) => {
    const certified = certifiedUsers.of(request)
    if (certified !== undefined) return certified
    const { authorization } = request.headers
    if (authorization === undefined) return anonymous
    const token = /^bearer +(\S+)$/i.exec(authorization)?.[1]
    return token === undefined ? undefined : (await authenticateToken(token, []))?.user
  }
}

/** The tokens of a list. They name no audience: they are for this server alone, whose audience this is. */
export function staticTokens(tokens: readonly StaticToken[], audience: string): TokenAuthenticator {
  const users = new Map(tokens.map(({ token, user }) => [digest(token), asAuthenticated(user)]))
  return async (token, audiences) => {
    const user = users.get(digest(token))
    const isMeant = audiences.length === 0 || audiences.includes(audience)
    return user !== undefined && isMeant ? { user, audiences: [audience] } : undefined
  }
}

/** The first of them that knows the token. */
export function firstToKnow(authenticators: readonly TokenAuthenticator[]): TokenAuthenticator {
  return async (token, audiences) => {
    for (const authenticate of authenticators) {
      const identity = await authenticate(token, audiences)
      if (identity !== undefined) return identity
    }
    return undefined
  }
}

function asAuthenticated(user: User): User {
  return { ...user, groups: [...new Set([...user.groups, 'system:authenticated'])] }
}

/** Looking up digests takes no time that depends on how much of a token was right. */
function digest(token: string): string {
  return createHash('sha256').update(token).digest('base64')
}

/** Reading a certificate costs as much as a whole request, and a connection keeps the one it came with. */
class CertifiedUsers {
  readonly #known = new WeakMap<TLSSocket, { readonly user: User | undefined }>()

  of(request: IncomingMessage): User | undefined {
    const { socket } = request
    if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined
    const known = this.#known.get(socket) ?? { user: certifiedIdentity(request) }
    this.#known.set(socket, known)
    return known.user
  }
}
