import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { BlockList, isIPv6 } from 'node:net'
import { TLSSocket } from 'node:tls'
import { certifiedIdentity, type Identity } from './client-certificate.ts'
import type { GetHandler, TextAnswer } from './router.ts'

/** The endpoints that need a permission. */
export type Guarded = 'metrics' | 'configz' | 'console' | 'log'

/** Identifies tokens that this process does not know, and decides what users may read. Both methods may reject. */
export interface AccessDelegate {
  /** Resolves with the user of a token, or undefined if the token identifies no user. */
  readonly identify: (token: string) => Promise<Identity | undefined>
  readonly mayRead: (identity: Identity, what: Guarded) => Promise<boolean>
}

export interface AccessRule {
  /** Read at every request, so that changed options and rotated tokens hold at once. */
  readonly isPublic: () => boolean
  readonly bearerTokens: () => readonly string[]
  /** Absent: other tokens are refused, and a certificate of the cluster's CA may read. */
  readonly delegate?: AccessDelegate
  /** Called with the reason why the delegate gave no answer. */
  readonly onTrouble?: (error: unknown) => void
}

const superusers = 'system:masters'

/**
 * Lets a request through from loopback, with a token of this process, with an identity that the delegate lets read, or when the operator opened the
 * endpoint. Otherwise 401 (no identity), 403 (an identity that may not read, a certificate of another CA) or 503 (the delegate gives no answer).
 */
export function guard(rule: AccessRule, what: Guarded, handler: GetHandler): GetHandler {
  return async (request) => (await refusal(rule, what, request.message)) ?? handler(request)
}

/**
 * Returns the answer to a request that may not read; undefined for one that may. Logs are the pods' own: neither loopback
 * nor a token of this process opens them.
 */
export async function refusal(
  rule: AccessRule,
  what: Guarded,
  message: IncomingMessage,
): Promise<TextAnswer | undefined> {
  const isOwn = what !== 'log'
  if (isOwn && (rule.isPublic() || isLoopback(message.socket.remoteAddress))) return undefined
  const token = bearerToken(message)
  if (isOwn && token !== undefined && isKnownToken(token, rule.bearerTokens())) return undefined
  try {
    const identity = token === undefined ? certifiedIdentity(message) : await rule.delegate?.identify(token)
    return identity === undefined ? refuseStranger(message, token) : await refuseIdentity(rule, what, identity)
  } catch (error) {
    rule.onTrouble?.(error)
    return { status: 503, body: 'the API server does not say now who may read this; try again\n' }
  }
}

/** The superusers' group may read also while the API server is away. */
async function refuseIdentity(
  { delegate }: AccessRule,
  what: Guarded,
  identity: Identity,
): Promise<TextAnswer | undefined> {
  const hasNoneToAsk = delegate === undefined && what !== 'log'
  if (hasNoneToAsk || identity.groups.includes(superusers) || (await delegate?.mayRead(identity, what)))
    return undefined
  return { status: 403, body: `forbidden: user ${JSON.stringify(identity.name)} may not read ${what} here\n` }
}

function refuseStranger(message: IncomingMessage, token: string | undefined): TextAnswer {
  if (token !== undefined) return unauthorized('this bearer token is not valid here')
  const isForeign = message.socket instanceof TLSSocket && message.socket.getPeerX509Certificate() !== undefined
  return isForeign
    ? { status: 403, body: "forbidden: the client certificate is not one of the cluster's CA\n" }
    : unauthorized("show a bearer token or a client certificate of the cluster's CA, or ask from loopback")
}

function unauthorized(reason: string): TextAnswer {
  return { status: 401, body: `unauthorized: ${reason}\n`, headers: { 'www-authenticate': 'Bearer' } }
}

function bearerToken(message: IncomingMessage): string | undefined {
  return /^Bearer +(\S+)$/i.exec(message.headers.authorization ?? '')?.[1]
}

/** Compares with every known token, each in constant time, so that the duration reveals nothing about them. */
function isKnownToken(token: string, known: readonly string[]): boolean {
  const shown = sha256(token)
  return known.map((candidate) => candidate !== '' && timingSafeEqual(shown, sha256(candidate))).includes(true)
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

export function isLoopback(address: string | undefined): boolean {
  return address !== undefined && loopback.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}
