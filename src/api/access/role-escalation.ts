import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../model/api-object.ts'
import { type ApiDocument, listAt } from '../document.ts'
import { forbidden, notFound } from '../status.ts'
import type { Admit } from '../verbs/verb-context.ts'
import type { Attributes } from './attributes.ts'
import type { User } from './authenticate.ts'
import { isSuperuser } from './authorize.ts'
import { type PolicyRule, parseRules, ruleAllows } from './policy-rule.ts'
import { type RoleIndex, type RoleReference, roleReference } from './role-index.ts'

type Change = Parameters<Admit>[0]

const everything: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'], resourceNames: [], nonResourceURLs: [] },
  { verbs: ['*'], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: ['*'] },
]

/** Nobody grants what they do not have, by a role or by a binding, unless allowed to `escalate` or to `bind`. Throws a 403. */
export function assertMayGrant(user: User, roles: RoleIndex, change: Change): void {
  const { kind, group } = change.target.resource
  if (change.next === undefined || !group.startsWith('rbac.') || isSuperuser(user)) return
  if (kind === 'Role' || kind === 'ClusterRole') assertMayWriteRole(user, roles, change, change.next)
  if (kind === 'RoleBinding' || kind === 'ClusterRoleBinding') assertMayBind(user, roles, change, change.next)
}

function assertMayWriteRole(user: User, roles: RoleIndex, change: Change, next: ApiDocument): void {
  const { old, target, name } = change
  if (isDeepStrictEqual([old?.['rules'], old?.['aggregationRule']], [next['rules'], next['aggregationRule']])) return
  const held = rulesHeld(user, roles, target.namespace)
  if (holds(held, asVerb('escalate', change, target.resource.plural, name))) return
  const wanted = next['aggregationRule'] === undefined ? parseRules(listAt(next['rules'])) : everything
  assertCovered(user, held, wanted, change)
}

function assertMayBind(user: User, roles: RoleIndex, change: Change, next: ApiDocument): void {
  const { old, target } = change
  if (old !== undefined && isDeepStrictEqual(old['subjects'], next['subjects'])) return
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
  const missing = wanted.filter((rule) => !breakDown(rule).every((single) => holds(held, single)))
  if (missing.length === 0) return
  const groups = JSON.stringify(user.groups)
  const why = `user ${JSON.stringify(user.name)} (groups=${groups}) is attempting to grant RBAC permissions not currently held:`
  throw forbidden(change.target.resource, change.name, [why, ...missing.map(describeRule)].join('\n'))
}

/** Every single thing a rule allows; a `*` is held only by a `*`. */
function breakDown(rule: PolicyRule): readonly Attributes[] {
  const names = rule.resourceNames.length === 0 ? [''] : rule.resourceNames
  return rule.verbs.flatMap((verb) => [
    ...rule.nonResourceURLs.map((path): Attributes => ({ kind: 'path', verb, path })),
    ...rule.apiGroups.flatMap((group) =>
      rule.resources.flatMap((resource) =>
        names.map(
          (name): Attributes => ({ kind: 'resource', verb, group, resource, name, namespace: '', fieldSelector: [] }),
        ),
      ),
    ),
  ])
}

/** `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`: as Kubernetes words it. */
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
