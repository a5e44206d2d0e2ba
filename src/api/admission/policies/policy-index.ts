import { followStore } from '../../access/follow-store.ts'
import { type ApiDocument, textAt } from '../../document.ts'
import { collectionPrefix } from '../../resources/keys.ts'
import type { Store, StoreWatch } from '../../store/index.ts'
import { type CompiledPolicy, compilePolicy } from './policy.ts'

export interface BoundPolicy {
  readonly policy: CompiledPolicy
  /** ValidatingAdmissionPolicyBindings, by name. */
  readonly bindings: readonly ApiDocument[]
}

export const policyPlural = 'validatingadmissionpolicies'
const bindingPlural = 'validatingadmissionpolicybindings'

/** Follows the policies and bindings in the store. Each policy is compiled when it is first needed after a change. */
export class PolicyIndex {
  readonly #policies = new Map<string, ApiDocument>()
  readonly #bindings = new Map<string, ApiDocument>()
  readonly #compiled = new WeakMap<ApiDocument, CompiledPolicy>()
  #bound: readonly BoundPolicy[] | undefined
  #watches: readonly StoreWatch[] = []

  async start(store: Store): Promise<void> {
    const follow = (plural: string, documents: Map<string, ApiDocument>) =>
      followStore(store, collectionPrefix({ plural }, undefined), (name, document) => {
        this.#bound = undefined
        if (document === undefined) documents.delete(name)
        else documents.set(name, document)
      })
    this.#watches = [await follow(policyPlural, this.#policies), await follow(bindingPlural, this.#bindings)]
  }

  stop(): void {
    for (const watch of this.#watches) watch.close()
  }

  get isEmpty(): boolean {
    return this.#bindings.size === 0 || this.#policies.size === 0
  }

  /** Returns the policies that have a binding, by name. */
  bound(): readonly BoundPolicy[] {
    this.#bound ??= this.#bind()
    return this.#bound
  }

  #bind(): readonly BoundPolicy[] {
    const byPolicy = Map.groupBy(sorted(this.#bindings), ({ spec }) => textAt(spec, 'policyName'))
    return sorted(this.#policies).flatMap((policy) => {
      const bindings = byPolicy.get(policy.metadata.name ?? '')
      return bindings === undefined ? [] : [{ policy: this.#compile(policy), bindings }]
    })
  }

  #compile(document: ApiDocument): CompiledPolicy {
    const compiled = this.#compiled.get(document) ?? compilePolicy(document)
    this.#compiled.set(document, compiled)
    return compiled
  }
}

function sorted(documents: ReadonlyMap<string, ApiDocument>): readonly ApiDocument[] {
  return [...documents].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, document]) => document)
}
