import { timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import type { Dialect } from '../../model/dialect.ts'
import { type ApiDocument, textAt } from '../document.ts'
import { readDocument } from '../resources/read-document.ts'
import type { Store } from '../store/index.ts'
import type { TokenAuthenticator } from './authenticate.ts'
import { isThere, userOf } from './service-account-tokens.ts'
import type { TokenIssuer } from './token-issuer.ts'

type StoredToken = NonNullable<Dialect['storedToken']>

/**
 * Verifies the tokens that Kubernetes' token controller writes into Secrets of the type `service-account-token`: signed by the key of this
 * issuer, without an end. Such a token is valid while its account is there, and the Secret is there, holds it and has no label that ends it
 * (KEP-2799).
 */
export function storedTokens(
  issuer: TokenIssuer,
  { storedToken }: Dialect,
  store: Store,
  now: () => Date,
): TokenAuthenticator {
  if (storedToken === undefined) return async () => undefined
  const schema = claimsSchema(storedToken)
  return async (token, audiences) => {
    const { data: claims } = schema.safeParse(issuer.payloadOf(token))
    if (claims === undefined) return undefined
    if (audiences.length > 0 && !audiences.includes(issuer.name)) return undefined
    const { namespace, serviceaccount, secretName } = claims
    const account = { plural: 'serviceaccounts', namespace, object: serviceaccount }
    if (!(await isThere(store, account, now()))) return undefined
    const secret = await readDocument(store, { plural: 'secrets' }, namespace, secretName)
    return secret !== undefined && holdsToken(secret, token, storedToken)
      ? { user: userOf({ namespace, serviceaccount }), audiences: [issuer.name] }
      : undefined
  }
}

function holdsToken(secret: ApiDocument, token: string, { invalidSinceLabel }: StoredToken): boolean {
  if (textAt(secret, 'metadata', 'deletionTimestamp') !== '') return false
  if (textAt(secret, 'metadata', 'labels', invalidSinceLabel) !== '') return false
  const held = Buffer.from(textAt(secret, 'data', 'token'), 'base64')
  const given = Buffer.from(token)
  return held.length === given.length && timingSafeEqual(held, given)
}

function claimsSchema({ issuer, claimPrefix }: StoredToken) {
  const claim = (name: string) => `${claimPrefix}${name}`
  return z
    .record(z.string(), z.unknown())
    .transform((payload) => ({
      iss: payload['iss'],
      namespace: payload[claim('namespace')],
      secretName: payload[claim('secret.name')],
      serviceaccount: { name: payload[claim('service-account.name')], uid: payload[claim('service-account.uid')] },
    }))
    .pipe(
      z.object({
        iss: z.literal(issuer),
        namespace: z.string().min(1),
        secretName: z.string().min(1),
        serviceaccount: z.object({ name: z.string().min(1), uid: z.string().min(1) }),
      }),
    )
}
