import { type LabelSelector, matchesLabels, readLabelSelector } from '../../model/selector.ts'
import { type ApiDocument, listAt, textAt, valueAt } from '../document.ts'
import type { User } from '../identity.ts'
import { type PolicyRule, parseRules } from './policy-rule.ts'

export const roleKinds = ['clusterroles', 'roles', 'clusterrolebindings', 'rolebindings'] as const

export type RoleKind = (typeof roleKinds)[number]

/** The rules of one role, within the scope of one binding. */
export interface Grant {
  /** The namespace of the grant; undefined means all namespaces, and paths too. */
  readonly namespace: string | undefined
  readonly rules: readonly PolicyRule[]
}

export interface RoleReference {
  readonly kind: string
  readonly name: string
}

/** Indexes what users and groups may do, from the current roles and bindings. The first query after a change compiles the index anew. */
export class RoleIndex {
  /** The stored documents, by `name` or `namespace/name`. */
  readonly #documents: Readonly<Record<RoleKind, Map<string, ApiDocument>>> = {
    clusterroles: new Map(),
    roles: new Map(),
    clusterrolebindings: new Map(),
    rolebindings: new Map(),
  }
  #grants: ReadonlyMap<string, readonly Grant[]> | undefined
  /** The rules of the roles that were queried since the last change. */
  #rules = new Map<ApiDocument, readonly PolicyRule[]>()

  /** Records a document; undefined means deleted. */
  set(kind: RoleKind, path: string, document: ApiDocument | undefined): void {
    this.#grants = undefined
    this.#rules = new Map()
    if (document === undefined) this.#documents[kind].delete(path)
    else this.#documents[kind].set(path, document)
  }

  grantsOf({ name, groups }: User): readonly Grant[] {
    const grants = this.#compiled()
    return [`User/${name}`, ...groups.map((group) => `Group/${group}`)].flatMap((subject) => grants.get(subject) ?? [])
  }

  /** Returns the rules of the role that a binding of that namespace names; undefined when the role does not exist. */
  rulesOf({ kind, name }: RoleReference, namespace: string | undefined): readonly PolicyRule[] | undefined {
    const { clusterroles, roles } = this.#documents
    const role = kind === 'Role' ? roles.get(`${namespace}/${name}`) : clusterroles.get(name)
    return role && this.#rulesWithin(role)
  }

  #rulesWithin(role: ApiDocument): readonly PolicyRule[] {
    const known = this.#rules.get(role)
    if (known !== undefined) return known
    const rules = this.#gathered(role).flatMap((each) => parseRules(listAt(each['rules'])))
    this.#rules.set(role, rules)
    return rules
  }

  /** Returns the roles whose rules a role has: an aggregating role has those of the roles it selects, by further aggregation too, not its own. */
  #gathered(role: ApiDocument): readonly ApiDocument[] {
    const seen = new Set([role])
    for (const each of seen) for (const chosen of this.#chosenBy(each)) seen.add(chosen)
    return [...seen].filter((each) => !aggregates(each))
  }

  #chosenBy(role: ApiDocument): readonly ApiDocument[] {
    if (!aggregates(role)) return []
    const selectors = listAt(role['aggregationRule'], 'clusterRoleSelectors').map(readLabelSelector)
    const isChosen = ({ metadata }: ApiDocument) => selectors.some((selector) => selects(selector, metadata.labels))
    return [...this.#documents.clusterroles.values()].filter(isChosen)
  }

  #compiled(): ReadonlyMap<string, readonly Grant[]> {
    this.#grants ??= this.#compile()
    return this.#grants
  }

  #compile(): ReadonlyMap<string, readonly Grant[]> {
    const bindings = [...this.#documents.clusterrolebindings.values(), ...this.#documents.rolebindings.values()]
    const granted = bindings.flatMap((binding) => {
      const { namespace } = binding.metadata
      const rules = this.rulesOf(roleReference(binding), namespace) ?? []
      return subjectsOf(binding).map((subject) => ({ subject, grant: { namespace, rules } }))
    })
    const bySubject = Map.groupBy(granted, ({ subject }) => subject)
    return new Map([...bySubject].map(([subject, entries]) => [subject, entries.map(({ grant }) => grant)]))
  }
}

function aggregates(role: ApiDocument): boolean {
  return valueAt(role, 'aggregationRule') !== undefined
}

export function roleReference(binding: ApiDocument): RoleReference {
  return { kind: textAt(binding['roleRef'], 'kind'), name: textAt(binding['roleRef'], 'name') }
}

/** Returns the keys of a binding's subjects: `User/…` or `Group/…`; a service account is a user. */
function subjectsOf(binding: ApiDocument): readonly string[] {
  return listAt(binding['subjects']).map((subject) => {
    const [kind, name] = [textAt(subject, 'kind'), textAt(subject, 'name')]
    if (kind !== 'ServiceAccount') return `${kind}/${name}`
    const namespace = textAt(subject, 'namespace') || binding.metadata.namespace
    return `User/system:serviceaccount:${namespace}:${name}`
  })
}

/** Checks whether the selector matches; a selector that cannot be parsed matches nothing. */
function selects(selector: LabelSelector | undefined, labels: Readonly<Record<string, string>> | undefined): boolean {
  return selector !== undefined && matchesLabels(selector, labels)
}
