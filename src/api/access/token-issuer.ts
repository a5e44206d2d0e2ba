import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { z } from 'zod'
import type { JsonObject } from '../../model/api-object.ts'

/** The object that a token is bound to: the token is valid while the object exists. */
export interface BoundObject {
  readonly name: string
  readonly uid: string
}

/** The service account of a token, from the dialect's own claim. */
export interface ServiceAccountIdentity {
  readonly namespace: string
  readonly serviceaccount: BoundObject
  readonly pod?: BoundObject | undefined
  readonly secret?: BoundObject | undefined
  readonly node?: BoundObject | undefined
}

/** The claims of a token (RFC 7519 section 4.1); times in seconds since 1970. */
export interface TokenClaims {
  readonly identity: ServiceAccountIdentity
  readonly audiences: readonly string[]
  readonly issuedAt: number
  readonly expiresAt: number
  /** The unique identifier of the token. */
  readonly id: string
}

export interface TokenIssuer {
  /** The `iss` of the tokens, and the audience that means this server. */
  readonly name: string
  sign(claims: TokenClaims): string
  /** Returns the claims of a token that this key signed under this name, expired or not; undefined for any other text. */
  read(token: string): TokenClaims | undefined
  /** Returns what this key signed, under whatever name; undefined for any other text. */
  payloadOf(token: string): unknown
  /** The keys that verify the tokens: a JWK set (RFC 7517 section 5). */
  keys(): JsonObject
}

export interface TokenIssuerOptions {
  readonly name: string
  /** The private key: ECDSA P-256, PEM. */
  readonly keyPem: string
  /** The dialect's name for the claim that holds the service account. */
  readonly identityClaim: string
}

/** Issues JSON web tokens signed with ES256 (RFC 7515, RFC 7518 section 3.4). */
export function createTokenIssuer({ name, keyPem, identityClaim }: TokenIssuerOptions): TokenIssuer {
  const privateKey = createPrivateKey(keyPem)
  const publicKey = createPublicKey(privateKey)
  const jwk = toJwk(publicKey)
  const header = encodePart({ alg: 'ES256', kid: jwk['kid'] })
  const schema = claimsSchema(name, identityClaim)
  const payloadOf = (token: string): unknown => {
    const [anyHeader = '', payload = '', signature = '', ...more] = token.split('.')
    const key = { key: publicKey, dsaEncoding: 'ieee-p1363' } as const
    const content = Buffer.from(`${anyHeader}.${payload}`)
    if (more.length > 0 || !verify('sha256', content, key, Buffer.from(signature, 'base64url'))) return undefined
    return JSON.parse(Buffer.from(payload, 'base64url').toString())
  }
  return {
    name,
    payloadOf,
    keys: () => ({ keys: [jwk] }),
    sign: (claims) => {
      const content = `${header}.${encodePart({ ...registeredClaims(claims, name), [identityClaim]: claims.identity })}`
      const signature = sign('sha256', Buffer.from(content), { key: privateKey, dsaEncoding: 'ieee-p1363' })
      return `${content}.${signature.toString('base64url')}`
    },
    read: (token) => (token.startsWith(`${header}.`) ? schema.safeParse(payloadOf(token)).data : undefined),
  }
}

export function userNameOf({ namespace, serviceaccount }: ServiceAccountIdentity): string {
  return `system:serviceaccount:${namespace}:${serviceaccount.name}`
}

function registeredClaims({ identity, audiences, issuedAt, expiresAt, id }: TokenClaims, issuer: string): JsonObject {
  const times = { iat: issuedAt, nbf: issuedAt, exp: expiresAt }
  return { iss: issuer, sub: userNameOf(identity), aud: audiences, ...times, jti: id }
}

/** Returns the schema of the claims. A token with a valid signature can still stem from a time with another name, dialect or version. */
function claimsSchema(issuer: string, identityClaim: string) {
  const bound = z.object({ name: z.string(), uid: z.string() })
  const identity = z.object({
    namespace: z.string(),
    serviceaccount: bound,
    pod: bound.optional(),
    secret: bound.optional(),
    node: bound.optional(),
  })
  const claims = z.object({
    iss: z.literal(issuer),
    aud: z.array(z.string()),
    iat: z.number(),
    exp: z.number(),
    jti: z.string(),
    identity,
  })
  return z
    .record(z.string(), z.unknown())
    .transform((payload) => ({ ...payload, identity: payload[identityClaim] }))
    .pipe(claims)
    .transform(({ aud, iat, exp, jti, ...rest }) => ({
      identity: rest.identity,
      audiences: aud,
      issuedAt: iat,
      expiresAt: exp,
      id: jti,
    }))
}

/** Returns the JWK of a key; its ID is the key's thumbprint (RFC 7638). */
function toJwk(key: KeyObject): JsonObject {
  const { crv = '', kty = '', x = '', y = '' } = key.export({ format: 'jwk' })
  const thumbprint = createHash('sha256').update(JSON.stringify({ crv, kty, x, y }))
  return { use: 'sig', alg: 'ES256', kid: thumbprint.digest('base64url'), kty, crv, x, y }
}

function encodePart(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}
