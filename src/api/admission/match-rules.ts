import type { Json } from '../../model/api-object.ts'
import { listAt, textAt } from '../document.ts'
import type { Resource } from '../resources/resource.ts'
import type { AdmissionRequest, GroupVersionKind } from './admission-request.ts'

/** The version in which a configuration sees a request: that of the URL or an equivalent one. */
export interface Match {
  readonly resource: Resource
  /** The kind of the object in that version. */
  readonly kind: GroupVersionKind
}

/** The parts of a request that rules look at; `equivalents` are the other versions of its resource. */
export interface RuleSubject {
  readonly request: Pick<AdmissionRequest, 'operation' | 'resource' | 'subresource' | 'kind' | 'namespace' | 'name'>
  readonly equivalents: readonly Resource[]
}

/**
 * Returns the version in which one of the rules (RuleWithOperations, NamedRuleWithOperations of admissionregistration.k8s.io/v1)
 * matches a request; undefined where none does. Only the policy Equivalent looks at other versions than that of the URL.
 */
export function matchRules(
  rules: readonly Json[],
  matchPolicy: string,
  { request, equivalents }: RuleSubject,
): Match | undefined {
  const { resource, kind, subresource } = request
  if (rules.some((rule) => isMatch(rule, resource, request))) return { resource, kind }
  if (matchPolicy !== 'Equivalent') return undefined
  for (const rule of rules) {
    const found = equivalents.find((each) => isMatch(rule, each, request))
    if (found !== undefined) return { resource: found, kind: kindIn(found, resource, { kind, subresource }) }
  }
  return undefined
}

/** Returns the kind of the object in an equivalent version; that of a subresource with its own kind stays the same. */
function kindIn(
  equivalent: Resource,
  asked: Resource,
  { kind }: { readonly kind: GroupVersionKind; readonly subresource: string },
): GroupVersionKind {
  const isOwn = kind.group === asked.group && kind.version === asked.version && kind.kind === asked.kind
  if (!isOwn) return kind
  return { group: equivalent.group, version: equivalent.version, kind: equivalent.kind }
}

function isMatch(rule: Json, resource: Resource, request: RuleSubject['request']): boolean {
  return (
    isInScope(textAt(rule, 'scope'), request) &&
    includes(listAt(rule, 'operations'), request.operation) &&
    includes(listAt(rule, 'apiGroups'), resource.group) &&
    includes(listAt(rule, 'apiVersions'), resource.version) &&
    listAt(rule, 'resources').some((each) => matchesResource(textAt(each), resource.plural, request.subresource)) &&
    isNamed(listAt(rule, 'resourceNames'), request.name)
  )
}

function includes(items: readonly Json[], wanted: string): boolean {
  return items.includes('*') || items.includes(wanted)
}

function isNamed(names: readonly Json[], name: string): boolean {
  return names.length === 0 || names.includes(name)
}

/** Checks the scope; a Namespace is an object of the cluster. */
function isInScope(scope: string, { resource, namespace }: RuleSubject['request']): boolean {
  if (scope === '' || scope === '*') return true
  const isOfCluster = namespace === '' || isNamespaceResource(resource)
  return (scope === 'Cluster') === isOfCluster
}

/** Matches a resource and its subresource with a pattern; `*` stands for any name in either part, no slash for no subresource. */
function matchesResource(pattern: string, plural: string, subresource: string): boolean {
  const [wanted = '', ...rest] = pattern.split('/')
  const sub = rest.join('/')
  return (wanted === '*' || wanted === plural) && (sub === '*' || sub === subresource)
}

export function isNamespaceResource({ group, plural }: Pick<Resource, 'group' | 'plural'>): boolean {
  return group === '' && plural === 'namespaces'
}
