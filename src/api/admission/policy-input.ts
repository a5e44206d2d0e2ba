import type { Json, JsonObject } from '../../model/api-object.ts'
import { type FieldSelector, parseFieldSelector, SelectorError } from '../../model/selector.ts'
import type { Attributes } from '../access/attributes.ts'
import { isAllowed } from '../access/authorize.ts'
import type { Authorizer } from '../access/authorizer.ts'
import type { PolicyInput } from '../cel/admission/evaluate-policy-expression.ts'
import type { Access, AccessQuestion } from '../cel/library/authorizer.ts'
import { type ApiDocument, without } from '../document.ts'
import type { User } from '../identity.ts'
import type { AdmissionRequest, GroupVersionKind } from './admission-request.ts'
import { type AdmissionSubject, convertTo } from './match-resources.ts'
import { isNamespaceResource, type Match } from './match-rules.ts'

/** Returns the values of the variables in expressions about a request, which `match` sees in one of its versions. */
export function policyInputOf(
  { request, namespace }: AdmissionSubject,
  match: Match,
  { params, authorizers }: { readonly params: ApiDocument | undefined; readonly authorizers: readonly Authorizer[] },
): PolicyInput {
  const { resource, subresource, name, user } = request
  const seen = (document: ApiDocument | undefined) => document && seenIn(match, request, document)
  const isOfCluster = request.namespace === '' || isNamespaceResource(resource)
  return {
    object: seen(request.object) ?? null,
    oldObject: seen(request.oldObject) ?? null,
    params: params ?? null,
    request: requestValue(request, match),
    namespaceObject: isOfCluster || namespace === undefined ? null : namespaceValue(namespace),
    access: accessOf(user, authorizers),
    requestResource: {
      ...{ kind: 'resource', group: resource.group, resource: resource.plural, subresource },
      ...{ namespace: request.namespace, name, fieldSelector: '' },
    },
  }
}

/** Returns an object in the version of a match; a body of another kind (Scale) has one version only. */
function seenIn({ resource, kind }: Match, request: AdmissionRequest, document: ApiDocument): ApiDocument {
  const isOwnKind = kind.kind === resource.kind && kind.group === resource.group
  return isOwnKind ? convertTo(resource, request.resource, document) : document
}

/** Returns the AdmissionRequest (admission.k8s.io/v1) without its objects; empty fields are left out. */
export function requestValue(request: AdmissionRequest, match: Match): JsonObject {
  const { resource, kind, subresource, name, namespace, operation, user, isDryRun, options = null } = request
  const filled = (fields: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(fields).filter(([, text]) => text !== ''))
  return {
    uid: '',
    kind: kindValue(match.kind),
    resource: resourceValue(match.resource),
    ...filled({ subResource: subresource }),
    requestKind: kindValue(kind),
    requestResource: resourceValue(resource),
    ...filled({ requestSubResource: subresource, name, namespace }),
    operation,
    userInfo: userValue(user),
    dryRun: isDryRun,
    options,
  }
}

function kindValue({ group, version, kind }: GroupVersionKind): JsonObject {
  return { group, version, kind }
}

function resourceValue({ group, version, plural }: Match['resource']): JsonObject {
  return { group, version, resource: plural }
}

function userValue({ name, uid, groups, extra = {} }: User): JsonObject {
  const copied = Object.entries(extra).map(([key, values]): [string, Json] => [key, [...values]])
  return {
    username: name,
    ...(uid === undefined || uid === '' ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups: [...groups] }),
    ...(copied.length === 0 ? {} : { extra: Object.fromEntries(copied) }),
  }
}

/** Returns a Namespace with the fields that a policy may use. */
function namespaceValue({ metadata, spec = null, status = null }: ApiDocument): JsonObject {
  return { metadata: without(metadata, 'managedFields', 'ownerReferences', 'selfLink'), spec, status }
}

function accessOf(user: User, authorizers: readonly Authorizer[]): Access {
  return {
    allows: (question) => isAllowed(user, attributesOf(question), authorizers),
    ofServiceAccount: (namespace, name) => accessOf(serviceAccountUser(namespace, name), authorizers),
  }
}

function serviceAccountUser(namespace: string, name: string): User {
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated']
  return { name: `system:serviceaccount:${namespace}:${name}`, groups }
}

function attributesOf(question: AccessQuestion): Attributes {
  if (question.kind === 'path') return question
  const { verb, group, resource, subresource, namespace, name, fieldSelector } = question
  const whole = subresource === '' ? resource : `${resource}/${subresource}`
  return { kind: 'resource', verb, group, resource: whole, namespace, name, fieldSelector: readSelector(fieldSelector) }
}

/** Reads a selector. One that cannot be read is left out: the question then covers more objects. */
function readSelector(text: string): FieldSelector {
  try {
    return parseFieldSelector(text)
  } catch (thrown) {
    if (thrown instanceof SelectorError) return []
    throw thrown
  }
}
