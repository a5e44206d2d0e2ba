import type { Json } from '../../model/api-object.ts'
import { listAt } from '../document.ts'
import type { Attributes, PathAttributes, ResourceAttributes } from './attributes.ts'

/** One rule of a Role: the verbs it allows on which objects (RBAC `PolicyRule`). Empty `resourceNames` means every name. */
export interface PolicyRule {
  readonly verbs: readonly string[]
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames: readonly string[]
  readonly nonResourceURLs: readonly string[]
}

/** Returns the `rules` of a stored Role or ClusterRole; members that are not lists of text count as empty, and so allow nothing. */
export function parseRules(rules: readonly Json[]): readonly PolicyRule[] {
  return rules.map((rule) => ({
    verbs: texts(rule, 'verbs'),
    apiGroups: texts(rule, 'apiGroups'),
    resources: texts(rule, 'resources'),
    resourceNames: texts(rule, 'resourceNames'),
    nonResourceURLs: texts(rule, 'nonResourceURLs'),
  }))
}

export function ruleAllows(rule: PolicyRule, attributes: Attributes): boolean {
  if (!includesOrAll(rule.verbs, attributes.verb)) return false
  return attributes.kind === 'path' ? coversPath(rule, attributes) : coversResource(rule, attributes)
}

function coversResource(rule: PolicyRule, { group, resource, name }: ResourceAttributes): boolean {
  const isNamed = rule.resourceNames.length === 0 || rule.resourceNames.includes(name)
  return isNamed && includesOrAll(rule.apiGroups, group) && coversResourceName(rule.resources, resource)
}

/** Checks whether the rule covers the resource: `*` covers everything; `*` with a subresource covers that subresource of everything. */
function coversResourceName(resources: readonly string[], resource: string): boolean {
  if (includesOrAll(resources, resource)) return true
  const slash = resource.indexOf('/')
  return slash >= 0 && resources.includes(`*${resource.slice(slash)}`)
}

/** Checks whether the rule covers the path; a `*` at the end matches any rest. */
function coversPath(rule: PolicyRule, { path }: PathAttributes): boolean {
  return rule.nonResourceURLs.some((known) =>
    known.endsWith('*') ? path.startsWith(known.slice(0, -1)) : known === path,
  )
}

function includesOrAll(list: readonly string[], wanted: string): boolean {
  return list.includes('*') || list.includes(wanted)
}

function texts(rule: Json, field: string): readonly string[] {
  return listAt(rule, field).filter((value) => typeof value === 'string')
}
