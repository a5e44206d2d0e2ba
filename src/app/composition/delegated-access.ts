import { type ApiClient, type AskedAccess, DelegatedReviews } from '../../client/index.ts'
import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/index.ts'
import type { AccessDelegate, Guarded } from '../../serve/index.ts'

/** Says why the API server gives no answer, once for each reason in a row: scrapes ask all the time. */
export function tellTrouble(log: Logger): (error: unknown) => void {
  let told = ''
  return (error) => {
    const message = describeError(error)
    if (message !== told) log.warn('the API server does not say who may read metrics', { error })
    told = message
  }
}

/** Whom the API server knows and lets read that; what is asked may be granted by any one of several rights. */
function delegateTo(client: ApiClient, rightsFor: (what: Guarded) => readonly AskedAccess[]): AccessDelegate {
  const reviews = new DelegatedReviews(client)
  return {
    identify: async (token) => {
      const user = await reviews.authenticate(token)
      return user && { name: user.username, groups: user.groups ?? [], uid: user.uid, extra: user.extra }
    },
    mayRead: async ({ name, ...identity }, what) => {
      for (const right of rightsFor(what)) {
        if (await reviews.authorize({ username: name, ...identity }, right)) return true
      }
      return false
    },
  }
}

/** As a kubelet asks: `nodes/metrics` and `nodes/configz` of this node, or for the latter `nodes/proxy`. */
export function agentAccess(client: ApiClient, nodeName: string): AccessDelegate {
  const right = (subresource: string): AskedAccess => ({
    resourceAttributes: { verb: 'get', group: '', resource: 'nodes', subresource, name: nodeName },
  })
  return delegateTo(client, (what) => (what === 'metrics' ? [right(what)] : [right(what), right('proxy')]))
}

/** As Kubernetes' scheduler and controller manager ask: the path itself. */
export function componentAccess(client: ApiClient): AccessDelegate {
  return delegateTo(client, (what) => [{ nonResourceAttributes: { verb: 'get', path: `/${what}` } }])
}
