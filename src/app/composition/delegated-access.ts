import { type ApiClient, type AskedAccess, DelegatedReviews } from '../../client/index.ts'
import { describeError } from '../../model/errors.ts'
import type { Logger } from '../../observe/index.ts'
import type { AccessDelegate, Guarded } from '../../serve/index.ts'

/** Logs why the API server gives no answer, once per reason: scrapes repeat the question every few seconds. */
export function tellTrouble(log: Logger): (error: unknown) => void {
  let reported = ''
  return (error) => {
    const message = describeError(error)
    if (message !== reported)
      log.warn('the API server does not answer who may read metrics; such requests get 503', { error })
    reported = message
  }
}

/** Asks the API server who a token belongs to and whether that user has one of several rights. */
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

/** Checks the rights that a kubelet checks: `nodes/metrics`, and `nodes/configz`, `nodes/log` or `nodes/proxy`, of this node. */
export function agentAccess(client: ApiClient, nodeName: string): AccessDelegate {
  const right = (subresource: string): AskedAccess => ({
    resourceAttributes: { verb: 'get', group: '', resource: 'nodes', subresource, name: nodeName },
  })
  return delegateTo(client, (what) => (what === 'metrics' ? [right(what)] : [right(what), right('proxy')]))
}

/** Checks the right that Kubernetes' scheduler and controller manager check: `get` of the path. */
export function componentAccess(client: ApiClient): AccessDelegate {
  return delegateTo(client, (what) => [{ nonResourceAttributes: { verb: 'get', path: `/${what}` } }])
}
