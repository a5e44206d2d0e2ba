import type { User } from '../identity.ts'
import { forbidden, StatusError, unauthorized } from '../status.ts'
import { type Attributes, describeDenial } from './attributes.ts'
import { anonymous } from './authenticate.ts'
import type { Authorizer } from './authorizer.ts'

const superusers = 'system:masters'
const openPaths = /^\/(healthz|livez|readyz|version)(\/|$)/

/**
 * Checks that the user may do what the request asks; throws a 401 Status for an anonymous user, a 403 for any other. Health and version paths are
 * open to every client, so that probes work whatever the roles say. The superusers' group may do everything, so that roles can always be repaired.
 */
export function authorize(user: User, attributes: Attributes, authorizers: readonly Authorizer[]): void {
  if (attributes.kind === 'path' && openPaths.test(attributes.path)) return
  if (isAllowed(user, attributes, authorizers)) return
  throw user === anonymous ? unauthorized() : denial(user, attributes)
}

export function isAllowed(user: User, attributes: Attributes, authorizers: readonly Authorizer[]): boolean {
  return isSuperuser(user) || authorizers.some((authorizer) => authorizer.allows(user, attributes))
}

export function isSuperuser({ groups }: User): boolean {
  return groups.includes(superusers)
}

/** The authorizer of `--authorization-mode AlwaysAllow`: it allows every authenticated user. */
export const alwaysAllow: Authorizer = {
  start: async () => {},
  stop: () => {},
  allows: (user) => user !== anonymous,
}

function denial(user: User, attributes: Attributes): StatusError {
  const why = `User ${JSON.stringify(user.name)} ${describeDenial(attributes)}`
  if (attributes.kind === 'path') return new StatusError('Forbidden', `forbidden: ${why}`, { details: {} })
  const { group, resource, name } = attributes
  const [plural = resource] = resource.split('/', 1)
  return forbidden({ group, plural, kind: '' }, name, why)
}
