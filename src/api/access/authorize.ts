import type { Route } from '../route/route.ts'
import { unauthorized } from '../status.ts'
import { anonymous, type User } from './authenticate.ts'

/**
 * Whether the user may do what the route says; throws a 401 Status where not. Anonymous requests reach health and version only; every
 * identity of the cluster may do everything until roles come (RBAC takes this function's place).
 */
export function authorize(user: User | undefined, route: Route | undefined): void {
  const isOpen = route?.kind === 'health' || route?.kind === 'version'
  if (user === undefined || (user === anonymous && !isOpen)) throw unauthorized()
}
