import { textAt } from '../document.ts'
import type { User } from '../identity.ts'
import { readDocument } from '../resources/read-document.ts'
import type { Store } from '../store/index.ts'
import type { TokenAuthenticator } from './authenticate.ts'
import {
  type BoundObject,
  type ServiceAccountIdentity,
  type TokenClaims,
  type TokenIssuer,
  userNameOf,
} from './token-issuer.ts'

/** The time for which the token of an object under deletion stays valid. */
const deletionLeewayMs = 60_000

/** Verifies tokens of service accounts. A token is valid while its account exists, and the Pod, Secret or Node that it is bound to. */
export function serviceAccountTokens(issuer: TokenIssuer, store: Store, now: () => Date): TokenAuthenticator {
  return async (token, audiences) => {
    const claims = issuer.read(token)
    if (claims === undefined) return undefined
    const seconds = now().getTime() / 1000
    if (seconds >= claims.expiresAt || Math.ceil(seconds) < claims.issuedAt) return undefined
    const wanted = audiences.length === 0 ? [issuer.name] : audiences
    const given = new Set(claims.audiences)
    const met = wanted.filter((audience) => given.has(audience))
    if (met.length === 0 || !(await isAllThere(store, claims.identity, now()))) return undefined
    return { user: { ...userOf(claims.identity), extra: extraOf(claims) }, audiences: met }
  }
}

export function userOf(identity: ServiceAccountIdentity): User {
  const { namespace, serviceaccount } = identity
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated']
  return { name: userNameOf(identity), uid: serviceaccount.uid, groups }
}

/** Returns which token it is, and the Pod and Node that it is bound to, by the keys that every cluster has (KEP-4193). */
function extraOf({ id, identity: { pod, node } }: TokenClaims): Readonly<Record<string, readonly string[]>> {
  const prefix = 'authentication.kubernetes.io'
  const bound = (what: string, object: BoundObject | undefined) => ({
    ...(object && { [`${prefix}/${what}-name`]: [object.name] }),
    ...(object && object.uid !== '' && { [`${prefix}/${what}-uid`]: [object.uid] }),
  })
  return { [`${prefix}/credential-id`]: [`JTI=${id}`], ...bound('pod', pod), ...bound('node', node) }
}

async function isAllThere(store: Store, identity: ServiceAccountIdentity, now: Date): Promise<boolean> {
  const { namespace, serviceaccount, pod, secret, node } = identity
  // The node of a bound pod says where the pod is; the token does not depend on it.
  const needed = {
    serviceaccounts: serviceaccount,
    pods: pod,
    secrets: secret,
    nodes: pod === undefined ? node : undefined,
  }
  for (const [plural, object] of Object.entries(needed)) {
    const place = plural === 'nodes' ? undefined : namespace
    if (object !== undefined && !(await isThere(store, { plural, namespace: place, object }, now))) return false
  }
  return true
}

interface Needed {
  readonly plural: string
  readonly namespace: string | undefined
  readonly object: BoundObject
}

/** Whether an object is there with its uid, and not long under deletion. */
export async function isThere(store: Store, { plural, namespace, object }: Needed, now: Date): Promise<boolean> {
  const document = await readDocument(store, { plural }, namespace, object.name)
  if (document === undefined) return false
  const deletion = textAt(document, 'metadata', 'deletionTimestamp')
  const isGone = deletion !== '' && Date.parse(deletion) + deletionLeewayMs < now.getTime()
  return document.metadata.uid === object.uid && !isGone
}
