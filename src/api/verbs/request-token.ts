import { formatTime, type Json } from '../../model/api-object.ts'
import { nodeNameOf } from '../access/node-identity.ts'
import type { BoundObject, TokenClaims } from '../access/token-issuer.ts'
import { type ApiDocument, isJsonObject, listAt, objectAt, textAt, valueAt } from '../document.ts'
import { numberOf } from '../exact-json.ts'
import type { Answer, ItemTarget, WriteOptions } from '../request/request.ts'
import { storeKey } from '../resources/keys.ts'
import { readDocument } from '../resources/read-document.ts'
import type { Resource } from '../resources/resource.ts'
import { parseStored } from '../resources/stored-text.ts'
import { invalidField } from '../schema/field-error.ts'
import { messageOf } from '../schema/kind-tables.ts'
import { badRequest, conflict, forbidden, invalid, notFound, unknownPath } from '../status.ts'
import { acceptDocument } from './accept-document.ts'
import { admitAction } from './admit-request.ts'
import { objectAnswer } from './answers.ts'
import type { VerbContext } from './verb-context.ts'

const defaultSeconds = 3600
const minSeconds = 600
const maxSeconds = 2 ** 32

/** Creates a token for the service account with the audiences and lifetime of the TokenRequest: 201. */
export async function requestToken(
  context: VerbContext,
  target: ItemTarget,
  body: Json,
  options: WriteOptions,
): Promise<Answer> {
  const { tokenRequest } = target.resource
  if (tokenRequest === undefined) throw unknownPath()
  const account = await readPart(context, target.resource, target.namespace, target.name)
  const sent = acceptRequest(tokenRequest, target, body)
  const admitted = await admitAction(context, target, { kind: tokenRequest, object: sent }, options)
  const request = admitted === sent ? sent : acceptRequest(tokenRequest, target, admitted)
  assertOfAccount(tokenRequest, account, request)
  const given = listAt(request['spec'], 'audiences').filter((audience) => typeof audience === 'string')
  const audiences = given.length === 0 ? [context.tokenIssuer.name] : given
  const expirationSeconds = readSeconds(tokenRequest, target, request)
  const bound = await readBound(context, target, objectAt(request, 'spec'))
  const issuedAt = Math.floor(context.now().getTime() / 1000)
  const claims: TokenClaims = {
    identity: { namespace: target.namespace ?? '', serviceaccount: identify(account), ...bound },
    audiences,
    issuedAt,
    expiresAt: issuedAt + expirationSeconds,
    id: context.newUid(),
  }
  const answered: ApiDocument = {
    ...request,
    metadata: { ...request.metadata, ...identify(account), creationTimestamp: formatTime(context.now()) },
    spec: { ...objectAt(request, 'spec'), audiences, expirationSeconds },
    status: {
      token: context.tokenIssuer.sign(claims),
      expirationTimestamp: formatTime(new Date(claims.expiresAt * 1000)),
    },
  }
  return objectAnswer(tokenRequest, { document: answered, revision: 0 }, 201)
}

/**
 * Accepts a TokenRequest. Clients have Kubernetes' group name compiled in: every dialect accepts it, and the answer has
 * the name of the request.
 */
function acceptRequest(kind: Resource, target: ItemTarget, body: Json): ApiDocument {
  const asked = textAt(body, 'apiVersion')
  const [version = '', group = ''] = asked.split('/').toReversed()
  const place = { ...target, resource: kind, subresource: undefined }
  if (!isJsonObject(body) || messageOf(group, version, kind.kind) === undefined) return acceptDocument(place, body)
  const { apiVersion: _, ...rest } = body
  return { ...acceptDocument(place, rest), apiVersion: asked }
}

/** Checks that a TokenRequest which names an account names the one of the URL. */
function assertOfAccount(kind: Resource, account: ApiDocument, { metadata }: ApiDocument): void {
  const { name = '', uid = '' } = account.metadata
  if (metadata.name && metadata.name !== name) {
    const why = 'must match the service account name if specified'
    throw invalid(kind, name, [invalidField('metadata.name', metadata.name, why)])
  }
  if (!metadata.uid || metadata.uid === uid) return
  const why = `the UID in the token request (${metadata.uid}) does not match the UID of the service account (${uid})`
  throw conflict({ ...kind, plural: kind.kind }, name, why)
}

function readSeconds(kind: Resource, { name }: ItemTarget, request: ApiDocument): number {
  const field = 'spec.expirationSeconds'
  const seconds = numberOf(valueAt(request, 'spec', 'expirationSeconds')) ?? defaultSeconds
  const refuse = (why: string) => invalid(kind, name, [invalidField(field, seconds, why)])
  if (seconds < minSeconds) throw refuse('may not specify a duration less than 10 minutes')
  if (seconds > maxSeconds) throw refuse('may not specify a duration larger than 2^32 seconds')
  return seconds
}

interface BoundObjects {
  readonly pod?: BoundObject
  readonly secret?: BoundObject
  readonly node?: BoundObject
}

/** Returns the object that the token is bound to. A node gets tokens for its own pods only. */
async function readBound(context: VerbContext, target: ItemTarget, spec: Json): Promise<BoundObjects> {
  const reference = valueAt(spec, 'boundObjectRef')
  const resource = reference === undefined ? undefined : boundResource(context, reference)
  if (resource?.kind !== 'Pod') assertNodeGets(context, target, spec, undefined)
  if (resource === undefined) return {}
  const object = await readReferred(context, target, resource, reference)
  if (resource.kind === 'Pod') assertNodeGets(context, target, spec, object)
  if (resource.kind === 'Secret') return { secret: identify(object) }
  if (resource.kind === 'Node') return { node: identify(object) }
  const account = textAt(object, 'spec', 'serviceAccountName')
  if (account === target.name) return { pod: identify(object), ...(await readNodeOf(context, object)) }
  const { name = '' } = object.metadata
  throw badRequest(`spec.boundObjectRef: pod ${name} runs as service account ${JSON.stringify(account)}`)
}

/** Returns the node of a pod, which the token names beside the pod; its uid is empty where there is no such Node (KEP-4193). */
async function readNodeOf({ store }: VerbContext, pod: ApiDocument): Promise<BoundObjects> {
  const name = textAt(pod, 'spec', 'nodeName')
  if (name === '') return {}
  const node = await readDocument(store, { plural: 'nodes' }, undefined, name)
  return { node: { name, uid: textAt(node, 'metadata', 'uid') } }
}

/** Returns the resource of a bound object; only the group of its version counts, as in Kubernetes. */
function boundResource({ registry }: VerbContext, reference: Json): Resource | undefined {
  const [apiVersion, kind] = [textAt(reference, 'apiVersion'), textAt(reference, 'kind')]
  const isCore = !apiVersion.includes('/')
  const isBindable = isCore && ['Pod', 'Secret', 'Node'].includes(kind)
  if (isBindable) return registry.find('', 'v1', `${kind.toLowerCase()}s`)
  throw badRequest(`cannot bind token to object of type ${isCore ? '/' : ''}${apiVersion}, Kind=${kind}`)
}

async function readReferred(
  context: VerbContext,
  target: ItemTarget,
  resource: Resource,
  reference: Json | undefined,
): Promise<ApiDocument> {
  const [name, uid] = [textAt(reference, 'name'), textAt(reference, 'uid')]
  const object = await readPart(context, resource, resource.namespaced ? target.namespace : undefined, name)
  if (uid === '' || uid === object.metadata.uid) return object
  throw conflict(resource, name, 'the uid in spec.boundObjectRef is that of another object, which may be gone')
}

/**
 * Checks a node's request: the token must be bound to a pod on that node, and have audiences of that pod's volumes.
 * Throws a 403.
 */
function assertNodeGets(context: VerbContext, target: ItemTarget, spec: Json, pod: ApiDocument | undefined): void {
  const node = context.user && nodeNameOf(context.user)
  if (node === undefined) return
  const refuse = (why: string) => forbidden(target.resource, target.name, why)
  if (pod === undefined || node === '' || textAt(pod, 'spec', 'nodeName') !== node)
    throw refuse('a node gets tokens only when they are bound to a pod that runs on it')
  if (textAt(spec, 'boundObjectRef', 'uid') === '')
    throw refuse('node requested token with a pod binding without a uid')
  const audiences = listAt(spec, 'audiences')
  if (audiences.length > 1) throw refuse('node may only request 0 or 1 audiences')
  const [audience = ''] = audiences
  if (mountedAudiences(pod).includes(String(audience)) || mayRequest(context, target, String(audience))) return
  throw refuse(`audience ${JSON.stringify(audience)} not found in pod spec volume, and the node may not request it`)
}

/** Returns the audiences of the token volumes; `""` is this server. */
function mountedAudiences(pod: ApiDocument): readonly string[] {
  const sources = listAt(pod, 'spec', 'volumes').flatMap((volume) => listAt(volume, 'projected', 'sources'))
  const tokens = sources.map((source) => valueAt(source, 'serviceAccountToken')).filter(isJsonObject)
  return tokens.map((token) => textAt(token, 'audience'))
}

/** Checks Kubernetes' special verb, whose resource is the audience and whose object is the account. */
function mayRequest({ may }: VerbContext, { namespace = '', name }: ItemTarget, audience: string): boolean {
  const verb = 'request-serviceaccounts-token-audience'
  return may?.({ kind: 'resource', verb, group: '', resource: audience, namespace, name, fieldSelector: [] }) === true
}

async function readPart(
  { store }: VerbContext,
  resource: Resource,
  namespace: string | undefined,
  name: string,
): Promise<ApiDocument> {
  const entry = await store.get(storeKey(resource, namespace, name))
  if (entry === undefined) throw notFound(resource, name)
  return parseStored(resource, entry)
}

function identify({ metadata: { name = '', uid = '' } }: ApiDocument): BoundObject {
  return { name, uid }
}
