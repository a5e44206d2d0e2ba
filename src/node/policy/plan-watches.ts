import type { ObjectKey } from '../../model/api-object.ts'
import type { Labels, NetworkPolicy, PolicyRule } from '../../model/network-policy.ts'
import { type LabelSelector, matchesLabels } from '../../model/selector.ts'

/** The namespaces whose pods on other nodes are needed: an empty set for none. */
export type RemotePods = 'all' | ReadonlySet<string>

/** Each namespace costs a list and a watch of its own. */
const maxNamespaces = 32

/** One thing that policies ask for, with the namespaces that it stands for now. */
interface Need {
  /** Selects namespaces; absent where the needed ones never change. */
  readonly selector?: LabelSelector
  readonly namespaces: 'all' | Set<string>
  /** How many policies have it. */
  users: number
}

/**
 * Which pods of other nodes must be watched for the policies that select a pod of this node. Pods matter as peers, and as destinations
 * whose ports an egress rule names. A policy costs its peers, a namespace the distinct selectors of namespaces.
 */
export class RemotePodScope {
  readonly #needs = new Map<string, Need>()
  readonly #needsOf = new Map<ObjectKey, ReadonlySet<string>>()
  readonly #namespaces = new Map<string, Labels>()

  /** Takes another version of a policy; undefined for one that selects no pod of this node. */
  replacePolicy(key: ObjectKey, policy: NetworkPolicy | undefined): void {
    const before = this.#needsOf.get(key) ?? []
    const next = policy === undefined ? new Set<string>() : this.#acquireAll(policy)
    for (const need of before) this.#release(need)
    if (next.size === 0) this.#needsOf.delete(key)
    else this.#needsOf.set(key, next)
  }

  /** Takes the labels of a namespace; undefined for one that is gone. */
  replaceNamespace(name: string, labels: Labels | undefined): void {
    if (labels === undefined) this.#namespaces.delete(name)
    else this.#namespaces.set(name, labels)
    for (const { selector, namespaces } of this.#needs.values()) {
      if (selector === undefined || namespaces === 'all') continue
      if (labels !== undefined && matchesLabels(selector, labels)) namespaces.add(name)
      else namespaces.delete(name)
    }
  }

  get wanted(): RemotePods {
    const wanted = new Set<string>()
    for (const { namespaces } of this.#needs.values()) {
      if (namespaces === 'all') return 'all'
      for (const name of namespaces) wanted.add(name)
      if (wanted.size > maxNamespaces) return 'all'
    }
    return wanted
  }

  /** Returns the names of the needs. */
  #acquireAll({ namespace, ingress = [], egress = [] }: NetworkPolicy): ReadonlySet<string> {
    const acquired = new Set<string>()
    const acquire = (name: string, create: () => Omit<Need, 'users'>) => {
      if (acquired.has(name)) return
      acquired.add(name)
      const need = this.#needs.get(name) ?? { ...create(), users: 0 }
      need.users += 1
      this.#needs.set(name, need)
    }
    const acquireEverything = () => acquire('all', () => ({ namespaces: 'all' }))
    if (egress.some(namesPortsOfAll)) acquireEverything()
    for (const peer of [...ingress, ...egress].flatMap(({ peers = [] }) => peers)) {
      if (peer.kind !== 'pods') continue
      const { namespaces: selector } = peer
      if (selector === undefined) acquire(`of ${namespace}`, () => ({ namespaces: new Set([namespace]) }))
      else if (selector.length === 0) acquireEverything()
      else acquire(JSON.stringify(selector), () => ({ selector, namespaces: this.#matching(selector) }))
    }
    return acquired
  }

  #release(name: string): void {
    const need = this.#needs.get(name)
    if (need === undefined) return
    need.users -= 1
    if (need.users === 0) this.#needs.delete(name)
  }

  #matching(selector: LabelSelector): Set<string> {
    const matching = [...this.#namespaces].filter(([, labels]) => matchesLabels(selector, labels))
    return new Set(matching.map(([name]) => name))
  }
}

function namesPortsOfAll({ peers, ports = [] }: PolicyRule): boolean {
  return peers === undefined && ports.some(({ kind }) => kind === 'name')
}
