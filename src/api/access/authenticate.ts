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

/** Returns the user of a request: undefined for wrong credentials, `anonymous` when the request has none. */
export type Authenticator = (request: IncomingMessage) => Promise<User | undefined>

interface TokenIdentity {
  readonly user: User
  /** The requested audiences that the token is valid for. */
  readonly audiences: readonly string[]
}

/** Returns the identity that a token proves. The token must be valid for one of the audiences; an empty list means this server. */
export type TokenAuthenticator = (token: string, audiences: readonly string[]) => Promise<TokenIdentity | undefined>

/** Authenticates by a client certificate of the cluster's CA (CN is the user, each O a group), or else by a bearer token. */
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

/** Authenticates the tokens of a static list. They name no audience, so they are valid for this server's `audience` only. */
export function staticTokens(tokens: readonly StaticToken[], audience: string): TokenAuthenticator {
  const users = new Map(tokens.map(({ token, user }) => [digest(token), asAuthenticated(user)]))
  return async (token, audiences) => {
    const user = users.get(digest(token))
    const isMeant = audiences.length === 0 || audiences.includes(audience)
    return user !== undefined && isMeant ? { user, audiences: [audience] } : undefined
  }
}

/** Returns the answer of the first authenticator that accepts the token. */
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

/** Returns the digest of a token. Looking up digests makes the time independent of how much of a token was correct. */
function digest(token: string): string {
  return createHash('sha256').update(token).digest('base64')
}

/** Caches users by connection: reading a certificate costs as much as a whole request, and a connection keeps its certificate. */
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
