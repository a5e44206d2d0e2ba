import type { User } from '../identity.ts'
import { collectionPrefix } from '../resources/keys.ts'
import type { Store, StoreWatch } from '../store/index.ts'
import type { Attributes } from './attributes.ts'
import type { Authorizer } from './authorizer.ts'
import { followStore } from './follow-store.ts'
import { ruleAllows } from './policy-rule.ts'
import { type Grant, RoleIndex, roleKinds } from './role-index.ts'

/** Authorizes by the stored roles and bindings (RBAC). It keeps them in memory, so no request waits for the store. */
export class RbacAuthorizer implements Authorizer {
  readonly index = new RoleIndex()
  readonly #store: Store
  #watches: readonly StoreWatch[] = []

  constructor(store: Store) {
    this.#store = store
  }

  async start(): Promise<void> {
    const follow = (kind: (typeof roleKinds)[number]) =>
      followStore(this.#store, collectionPrefix({ plural: kind }, undefined), (path, document) =>
        this.index.set(kind, path, document),
      )
    this.#watches = await Promise.all(roleKinds.map(follow))
  }

  stop(): void {
    for (const watch of this.#watches) watch.close()
  }

  allows(user: User, attributes: Attributes): boolean {
    return this.index.grantsOf(user).some((grant) => grantAllows(grant, attributes))
  }
}

function grantAllows({ namespace, rules }: Grant, attributes: Attributes): boolean {
  const isInReach = namespace === undefined || (attributes.kind === 'resource' && attributes.namespace === namespace)
  return isInReach && rules.some((rule) => ruleAllows(rule, attributes))
}
