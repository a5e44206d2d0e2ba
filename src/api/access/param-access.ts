import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../model/api-object.ts'
import { type ApiDocument, textAt, valueAt } from '../document.ts'
import type { User } from '../identity.ts'
import type { Admit } from '../request/request.ts'
import type { Registry } from '../resources/registry.ts'
import { apiVersionOf } from '../resources/resource.ts'
import { forbiddenField } from '../schema/field-error.ts'
import { invalid } from '../status.ts'
import { isAllowed } from './authorize.ts'
import type { Authorizer } from './authorizer.ts'

export interface ParamAccessParts {
  readonly authorizers: readonly Authorizer[]
  readonly registry: Registry
  readonly readPolicy: (name: string) => Promise<ApiDocument | undefined>
}

type Change = Parameters<Admit>[0]

/**
 * Checks that a user who writes an admission policy or its binding may read the parameters: expressions and messages
 * can show them to anyone whose requests the policy looks at. Rejects with a 422, as in Kubernetes.
 */
export async function assertMayReadParams(user: User, change: Change, parts: ParamAccessParts): Promise<void> {
  const { resource, subresource } = change.target
  if (!resource.group.startsWith('admissionregistration.') || subresource !== undefined) return
  const { old, next } = change
  if (next === undefined) return
  if (resource.kind === 'ValidatingAdmissionPolicy') assertMayReadKind(user, change, parts)
  if (resource.kind !== 'ValidatingAdmissionPolicyBinding') return
  const paramRef = valueAt(next, 'spec', 'paramRef')
  const isKept = isDeepStrictEqual(paramRef, valueAt(old, 'spec', 'paramRef')) && policyOf(next) === policyOf(old)
  if (paramRef === undefined || isKept) return
  const policy = await parts.readPolicy(policyOf(next))
  const verb = textAt(paramRef, 'name') === '' ? 'list' : 'get'
  const asked = { verb, namespace: textAt(paramRef, 'namespace'), name: textAt(paramRef, 'name') }
  if (mayRead(user, valueAt(policy, 'spec', 'paramKind'), asked, parts)) return
  const why = `user ${user.name} does not have "${verb}" permission on the object referenced by paramRef`
  throw invalid(resource, change.name, [forbiddenField('spec.paramRef', why)])
}

function policyOf(binding: ApiDocument | undefined): string {
  return textAt(binding, 'spec', 'policyName')
}

function assertMayReadKind(user: User, { target, name, old, next }: Change, parts: ParamAccessParts): void {
  const paramKind = valueAt(next, 'spec', 'paramKind')
  if (paramKind === undefined || isDeepStrictEqual(paramKind, valueAt(old, 'spec', 'paramKind'))) return
  if (mayRead(user, paramKind, { verb: 'get', namespace: '*', name: '*' }, parts)) return
  const shown = `kind=${textAt(paramKind, 'kind')}, apiVersion=${textAt(paramKind, 'apiVersion')}`
  const why = `user ${user.name} must have "get" permission on all objects of the referenced paramKind (${shown})`
  throw invalid(target.resource, name, [forbiddenField('spec.paramKind', why)])
}

/** Checks access to a kind of parameters; where it is unknown the user needs access to all resources. */
function mayRead(
  user: User,
  paramKind: Json | undefined,
  asked: { readonly verb: string; readonly namespace: string; readonly name: string },
  { authorizers, registry }: ParamAccessParts,
): boolean {
  const [apiVersion, kind] = [textAt(paramKind, 'apiVersion'), textAt(paramKind, 'kind')]
  const found = registry.all().find((each) => each.kind === kind && apiVersionOf(each) === apiVersion)
  const group = apiVersion === '' ? '*' : apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : ''
  const resource = found?.plural ?? '*'
  return isAllowed(user, { kind: 'resource', group, resource, fieldSelector: [], ...asked }, authorizers)
}
