import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { BlockList, isIPv6 } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { GetHandler, TextAnswer } from './router.ts'

export interface AccessRule {
  /** Asked at every request, so that the operator's choice and rotated tokens hold at once. */
  readonly isPublic: () => boolean
  readonly bearerTokens: () => readonly string[]
}

/**
 * Lets a request through from loopback, with a bearer token, with a client certificate of the cluster's CA, or when the
 * operator opened the endpoint. Otherwise 401 (nothing shown, or a wrong token) or 403 (a certificate of another CA).
 */
export function guard(rule: AccessRule, handler: GetHandler): GetHandler {
  return (request) => refusal(rule, request.message) ?? handler(request)
}

function refusal(rule: AccessRule, message: IncomingMessage): TextAnswer | undefined {
  if (rule.isPublic() || isLoopback(message.socket.remoteAddress)) return undefined
  const token = bearerToken(message)
  if (token !== undefined) {
    return isKnownToken(token, rule.bearerTokens()) ? undefined : unauthorized('this bearer token is not valid here')
  }
  switch (clientCertificate(message)) {
    case 'trusted':
      return undefined
    case 'foreign':
      return { status: 403, body: "forbidden: the client certificate is not one of the cluster's CA\n" }
    case 'none':
      return unauthorized("show a bearer token or a client certificate of the cluster's CA, or ask from loopback")
  }
}

function unauthorized(reason: string): TextAnswer {
  return { status: 401, body: `unauthorized: ${reason}\n`, headers: { 'www-authenticate': 'Bearer' } }
}

function bearerToken(message: IncomingMessage): string | undefined {
  return /^Bearer +(\S+)$/i.exec(message.headers.authorization ?? '')?.[1]
}

/** Every known token is compared, each in constant time, so that the time taken says nothing about them. */
function isKnownToken(token: string, known: readonly string[]): boolean {
  const shown = sha256(token)
  return known.map((candidate) => candidate !== '' && timingSafeEqual(shown, sha256(candidate))).includes(true)
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function clientCertificate({ socket }: IncomingMessage): 'trusted' | 'foreign' | 'none' {
  if (!(socket instanceof TLSSocket)) return 'none'
  if (socket.authorized) return 'trusted'
  return socket.getPeerX509Certificate() === undefined ? 'none' : 'foreign'
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

function isLoopback(address: string | undefined): boolean {
  return address !== undefined && loopback.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}
