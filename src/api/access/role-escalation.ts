import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../model/api-object.ts'
import { type ApiDocument, listAt, without } from '../document.ts'
import type { User } from '../identity.ts'
import type { Admit } from '../request/request.ts'
import { forbidden, notFound } from '../status.ts'
import type { Attributes } from './attributes.ts'
import { isSuperuser } from './authorize.ts'
import { type PolicyRule, parseRules, ruleAllows } from './policy-rule.ts'
import { type RoleIndex, type RoleReference, roleReference } from './role-index.ts'
import { rulesNotHeld } from './rule-cover.ts'

type Change = Parameters<Admit>[0]

const everything: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'], resourceNames: [], nonResourceURLs: [] },
  { verbs: ['*'], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: ['*'] },
]

/**
 * Checks that a user grants only permissions that it holds, by a role or by a binding, unless it may `escalate` or `bind`. Labels count as a grant:
 * another role may aggregate this one by them. Throws a 403.
 */
export function assertMayGrant(user: User, roles: RoleIndex, rbacGroup: string, change: Change): void {
  const { kind, group } = change.target.resource
  const { old, next } = change
  if (next === undefined || group !== rbacGroup || isSuperuser(user)) return
  if (old !== undefined && isDeepStrictEqual(grantOf(old), grantOf(next))) return
  if (kind === 'Role' || kind === 'ClusterRole') assertMayWriteRole(user, roles, change, next)
  if (kind === 'RoleBinding' || kind === 'ClusterRoleBinding') assertMayBind(user, roles, change, next)
}

/** Returns the document without the fields that the garbage collector and a deletion change. */
function grantOf(document: ApiDocument): JsonObject {
  const passing = ['ownerReferences', 'finalizers', 'managedFields', 'deletionTimestamp', 'deletionGracePeriodSeconds']
  return { ...document, metadata: without(document.metadata, ...passing) as JsonObject }
}

function assertMayWriteRole(user: User, roles: RoleIndex, change: Change, next: ApiDocument): void {
  const { old, target, name } = change
  const held = rulesHeld(user, roles, target.namespace)
  if (holds(held, asVerb('escalate', change, target.resource.plural, name))) return
  assertCovered(user, held, parseRules(listAt(next['rules'])), change)
  const isGathering = [old, next].some((role) => listAt(role, 'aggregationRule', 'clusterRoleSelectors').length > 0)
  if (isGathering && rulesNotHeld(held, everything)?.length !== 0)
    throw forbidden(target.resource, name, 'must have cluster-admin privileges to use the aggregationRule')
}

function assertMayBind(user: User, roles: RoleIndex, change: Change, next: ApiDocument): void {
  const { target } = change
  const role = roleReference(next)
  const held = rulesHeld(user, roles, target.namespace)
  if (holds(held, asVerb('bind', change, pluralOf(role), role.name))) return
  const granted = roles.rulesOf(role, target.namespace)
  if (granted === undefined) {
    throw notFound({ group: target.resource.group, plural: pluralOf(role), kind: role.kind }, role.name)
  }
  assertCovered(user, held, granted, change)
}

function pluralOf({ kind }: RoleReference): string {
  return `${kind.toLowerCase()}s`
}

function rulesHeld(user: User, roles: RoleIndex, namespace: string | undefined): readonly PolicyRule[] {
  return roles
    .grantsOf(user)
    .filter((grant) => grant.namespace === undefined || grant.namespace === namespace)
    .flatMap(({ rules }) => rules)
}

function asVerb(verb: string, { target }: Change, plural: string, name: string): Attributes {
  const { group } = target.resource
  return { kind: 'resource', verb, group, resource: plural, namespace: target.namespace ?? '', name, fieldSelector: [] }
}

function holds(held: readonly PolicyRule[], attributes: Attributes): boolean {
  return held.some((rule) => ruleAllows(rule, attributes))
}

function assertCovered(user: User, held: readonly PolicyRule[], wanted: readonly PolicyRule[], change: Change): void {
  const missing = rulesNotHeld(held, wanted)
  if (missing?.length === 0) return
  const groups = JSON.stringify(user.groups)
  const why =
    missing === undefined
      ? `there is too much in it to compare with what user ${JSON.stringify(user.name)} holds: make several smaller roles`
      : `user ${JSON.stringify(user.name)} (groups=${groups}) is attempting to grant RBAC permissions not currently held:`
  throw forbidden(change.target.resource, change.name, [why, ...describeRules(missing ?? [])].join('\n'))
}

/** The maximum number of rules in a message, so that an answer is not much longer than the request. */
const maxDescribed = 100

function describeRules(rules: readonly PolicyRule[]): readonly string[] {
  return rules.slice(0, maxDescribed).map(describeRule)
}

/** Formats a rule as Kubernetes does: `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`. */
function describeRule(rule: PolicyRule): string {
  const fields: readonly (readonly [string, Json])[] = [
    ['APIGroups', rule.apiGroups],
    ['Resources', rule.resources],
    ['ResourceNames', rule.resourceNames],
    ['NonResourceURLs', rule.nonResourceURLs],
    ['Verbs', rule.verbs],
  ]
  const shown = fields.filter(([, values]) => Array.isArray(values) && values.length > 0)
  return `{${shown.map(([name, values]) => `${name}:${JSON.stringify(values)}`).join(', ')}}`
}
