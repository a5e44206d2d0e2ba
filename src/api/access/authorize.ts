import type { User } from '../identity.ts'
import { forbidden, StatusError, unauthorized } from '../status.ts'
import { type Attributes, describeDenial } from './attributes.ts'
import { anonymous } from './authenticate.ts'
import type { Authorizer } from './authorizer.ts'

const superusers = 'system:masters'
const openPaths = /^\/(healthz|livez|readyz|version)(\/|$)/

/**
 * Whether the user may do that; throws a 401 Status for nobody in particular, a 403 for somebody who may not. Health and version answer anyone, so that
 * probes work whatever the roles say; the superusers' group may do everything, so that roles can always be mended.
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

/** `--authorization-mode AlwaysAllow`: whoever has an identity. */
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
