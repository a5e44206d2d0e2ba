import type { IncomingMessage } from 'node:http'
import type { Dialect } from '../../model/dialect.ts'
import type { User } from '../identity.ts'
import { checkDnsLabel, checkDnsSubdomain } from '../schema/names.ts'
import { badRequest } from '../status.ts'
import type { ResourceAttributes } from './attributes.ts'
import { anonymous } from './authenticate.ts'
import { authorize } from './authorize.ts'
import type { Authorizer } from './authorizer.ts'

const authenticated = 'system:authenticated'
const unauthenticated = 'system:unauthenticated'
const prefix = 'impersonate-'
const extraPrefix = `${prefix}extra-`

/** The identity that the headers name. */
interface Impersonation {
  readonly name: string
  readonly groups: readonly string[]
  readonly uid: string
  readonly extra: Readonly<Record<string, readonly string[]>>
}

/**
 * Returns the user as whom the request is served: the one that its Impersonate headers name, else the caller. The caller needs the verb `impersonate`
 * for each thing that the headers name. Throws a 403 without it, a 400 for headers that name no user.
 */
export function effectiveUser(
  request: IncomingMessage,
  caller: User,
  authorizers: readonly Authorizer[],
  dialect: Dialect,
): User {
  const wanted = readImpersonation(request)
  if (wanted === undefined) return caller
  const asked = requirements(wanted, dialect.groups.authentication)
  for (const each of asked) authorize(caller, { ...none, ...each }, authorizers)
  const { name, groups, uid, extra } = wanted
  return {
    name,
    groups: groupsOf(name, groups),
    ...(uid !== '' && { uid }),
    ...(Object.keys(extra).length > 0 && { extra }),
  }
}

const none: ResourceAttributes = {
  kind: 'resource',
  verb: 'impersonate',
  group: '',
  resource: '',
  namespace: '',
  name: '',
  fieldSelector: [],
}

function readImpersonation(request: IncomingMessage): Impersonation | undefined {
  const named = Object.keys(request.headers).filter(isImpersonation)
  if (named.length === 0) return undefined
  const headers = request.headersDistinct
  const valuesOf = (header: string) => (headers[header] ?? []).map(fromBytes)
  const [name = ''] = valuesOf(`${prefix}user`)
  if (name === '') throw badRequest('Impersonate headers: expected a user in Impersonate-User')
  const extras = named.filter((header) => header.startsWith(extraPrefix))
  const byKey = Map.groupBy(extras, (header) => unescapeKey(header.slice(extraPrefix.length)))
  return {
    name,
    groups: valuesOf(`${prefix}group`),
    uid: valuesOf(`${prefix}uid`)[0] ?? '',
    extra: Object.fromEntries([...byKey].map(([key, same]) => [key, same.flatMap(valuesOf)])),
  }
}

function isImpersonation(header: string): boolean {
  if (!header.startsWith(prefix)) return false
  return header.startsWith(extraPrefix) || ['user', 'group', 'uid'].includes(header.slice(prefix.length))
}

/** Decodes a header value: Node reads its bytes as Latin-1, clients write UTF-8. */
function fromBytes(value: string): string {
  return Buffer.from(value, 'latin1').toString()
}

/** Decodes a key; a key that is not a valid escape stays unchanged. */
function unescapeKey(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}

/** Returns each thing that the caller must be allowed to impersonate. */
function requirements(
  { name, groups, uid, extra }: Impersonation,
  group: string,
): readonly Partial<ResourceAttributes>[] {
  const account = serviceAccountOf(name)
  const user = account === undefined ? { resource: 'users', name } : { resource: 'serviceaccounts', ...account }
  const extras = Object.entries(extra).flatMap(([key, values]) =>
    values.map((value) => ({ group, resource: key === '' ? 'userextras' : `userextras/${key}`, name: value })),
  )
  return [
    user,
    ...groups.map((each) => ({ resource: 'groups', name: each })),
    ...extras,
    ...(uid === '' ? [] : [{ group, resource: 'uids', name: uid }]),
  ]
}

/** Returns the groups of the user. A service account without named groups gets its own; named groups replace all but those of every user. */
function groupsOf(name: string, named: readonly string[]): readonly string[] {
  const account = serviceAccountOf(name)
  const own = account && ['system:serviceaccounts', `system:serviceaccounts:${account.namespace}`]
  const groups = named.length === 0 ? (own ?? []) : named
  const missing = name === anonymous.name ? [unauthenticated] : [authenticated, unauthenticated]
  if (missing.some((group) => groups.includes(group))) return groups
  return [...groups, ...missing.slice(0, 1)]
}

/** Returns the namespace and name in `system:serviceaccount:NAMESPACE:NAME`; undefined for the name of any other user. */
function serviceAccountOf(user: string): { readonly namespace: string; readonly name: string } | undefined {
  const [system, kind, namespace = '', name = '', ...more] = user.split(':')
  if (system !== 'system' || kind !== 'serviceaccount' || more.length > 0) return undefined
  const isValid = checkDnsLabel(namespace) === undefined && checkDnsSubdomain(name) === undefined
  return isValid ? { namespace, name } : undefined
}
