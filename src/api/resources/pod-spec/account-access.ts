import type { Json, JsonObject } from '../../../model/api-object.ts'
import type { AccountAccess } from '../../../model/dialect.ts'
import { type ApiDocument, isJsonObject, listAt, textAt, valueAt } from '../../document.ts'

/** The fields of a ServiceAccount that matter for its Pods. */
export interface PodAccount {
  readonly name: string
  /** Whether its Pods get a token by default. */
  readonly mountsToken: boolean
  readonly pullSecrets: readonly string[]
  /** The Secrets that its Pods may refer to; undefined: any. */
  readonly secrets: ReadonlySet<string> | undefined
}

export const defaultAccount = 'default'

/** The lifetime of a token: an hour and seven seconds. The seven mark it, as in Kubernetes, as added by admission. */
const tokenSeconds = 3607

/** The token volume that Pods get by default. All Pods share one source object. */
export interface TokenGrant extends AccountAccess {
  readonly source: JsonObject
}

export function createTokenGrant(access: AccountAccess): TokenGrant {
  const namespace = { path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }
  const sources = [
    { serviceAccountToken: { expirationSeconds: tokenSeconds, path: 'token' } },
    { configMap: { name: access.rootCaConfigMap, items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
    { downwardAPI: { items: [namespace] } },
  ]
  return { ...access, source: { sources, defaultMode: 0o644 } }
}

export function readPodAccount(account: ApiDocument, { enforceMountableSecrets }: AccountAccess): PodAccount {
  const isLimited = isTrue(account.metadata.annotations?.[enforceMountableSecrets] ?? '')
  return {
    name: account.metadata.name ?? '',
    mountsToken: account['automountServiceAccountToken'] !== false,
    pullSecrets: listAt(account, 'imagePullSecrets').map((secret) => textAt(secret, 'name')),
    secrets: isLimited ? new Set(listAt(account, 'secrets').map((secret) => textAt(secret, 'name'))) : undefined,
  }
}

/** Returns a Pod's spec with the additions from its account; `newName` makes the name of the volume. Pure. */
export function withAccount(
  spec: JsonObject,
  account: PodAccount,
  grant: TokenGrant,
  newName: (base: string) => string,
): JsonObject {
  const named = { ...spec, serviceAccountName: account.name, serviceAccount: account.name }
  const wish = valueAt(spec, 'automountServiceAccountToken')
  const mounted = (wish ?? account.mountsToken) === true ? withToken(named, grant, newName) : named
  if (account.pullSecrets.length === 0 || listAt(spec, 'imagePullSecrets').length > 0) return mounted
  return { ...mounted, imagePullSecrets: account.pullSecrets.map((name) => ({ name })) }
}

/**
 * Adds the token volume and its mounts. A volume with such a name is used; a container with a mount at the path keeps
 * its own.
 */
function withToken(spec: JsonObject, grant: TokenGrant, newName: (base: string) => string): JsonObject {
  const volumes = listAt(spec, 'volumes')
  const present = volumes.map((volume) => textAt(volume, 'name')).find((name) => name.startsWith(grant.volumePrefix))
  const name = present ?? newName(grant.volumePrefix)
  const mount = { name, readOnly: true, mountPath: grant.mountPath }
  const fields = ['initContainers', 'containers'].filter((field) => listAt(spec, field).length > 0)
  const lists = fields.map((field) => [field, listAt(spec, field).map((each) => withMount(each, mount))] as const)
  const isMounted = lists.some(([field, list]) => list.some((each, index) => each !== listAt(spec, field)[index]))
  const added = present === undefined && isMounted ? { volumes: [...volumes, { name, projected: grant.source }] } : {}
  return { ...spec, ...Object.fromEntries(lists), ...added }
}

function withMount(container: Json, mount: JsonObject & { readonly mountPath: string }): Json {
  const mounts = listAt(container, 'volumeMounts')
  const isTaken = mounts.some((each) => textAt(each, 'mountPath') === mount.mountPath)
  return isTaken || !isJsonObject(container) ? container : { ...container, volumeMounts: [...mounts, mount] }
}

/** Returns why a Pod may not use an account that limits its Secrets; undefined where it may. Pure. */
export function findForeignSecret(spec: Json, { name, secrets, pullSecrets }: PodAccount): string | undefined {
  if (secrets === undefined) return undefined
  const lack = `is not allowed because service account ${name} does not reference that`
  const volume = secretsOf(listAt(spec, 'volumes'), 'secret', 'secretName').find((each) => !secrets.has(each))
  if (volume !== undefined) return `volume with secret.secretName="${volume}" ${lack} secret`
  const kinds = [
    ['initContainers', 'init container'],
    ['containers', 'container'],
  ] as const
  for (const [field, kind] of kinds) {
    const found = listAt(spec, field).flatMap((each) => variablesWithSecrets(each, kind))
    const foreign = found.find(({ secret }) => !secrets.has(secret))
    if (foreign !== undefined)
      return `${foreign.where} referencing secret.secretName="${foreign.secret}" ${lack} secret`
  }
  const pulled = listAt(spec, 'imagePullSecrets').map((secret) => textAt(secret, 'name'))
  const index = pulled.findIndex((each) => !pullSecrets.includes(each))
  return index < 0 ? undefined : `imagePullSecrets[${index}].name="${pulled[index]}" ${lack} imagePullSecret`
}

function variablesWithSecrets(container: Json, kind: string) {
  const where = `${kind} ${textAt(container, 'name')} with`
  const variables = listAt(container, 'env').flatMap((each) =>
    secretsOf([each], 'valueFrom', 'secretKeyRef', 'name').map((secret) => ({
      secret,
      where: `${where} envVar ${textAt(each, 'name')}`,
    })),
  )
  const groups = secretsOf(listAt(container, 'envFrom'), 'secretRef', 'name')
  return [...variables, ...groups.map((secret) => ({ secret, where: `${where} envFrom` }))]
}

/** Returns the names at a path below each item that has the parent object. */
function secretsOf(items: readonly Json[], ...path: readonly string[]): readonly string[] {
  return items.filter((item) => isJsonObject(valueAt(item, ...path.slice(0, -1)))).map((item) => textAt(item, ...path))
}

/** Checks whether Go parses a text as true. */
function isTrue(text: string): boolean {
  return ['1', 't', 'T', 'TRUE', 'true', 'True'].includes(text)
}
