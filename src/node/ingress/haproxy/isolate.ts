import type { ObjectKey } from '../../../model/api-object.ts'
import type { HostRoutes, Route, RoutingTable } from '../../../model/routing-table.ts'
import type { RoutingRefusal } from '../driver.ts'
import { certificateFiles, defaultCertificateFile, findDefaultCertificate } from './certificates.ts'
import { HaproxyError } from './errors.ts'

/** An Ingress or a Secret whose part of the table is left out, and why. */
export type Suspect = Pick<RoutingRefusal, 'kind' | 'key'>

/** Copies a table without the routes of these Ingresses and the certificates of these Secrets. */
export function withoutObjects(table: RoutingTable, objects: readonly Suspect[]): RoutingTable {
  if (objects.length === 0) return table
  const keysOf = (kind: Suspect['kind']) => new Set(objects.filter((each) => each.kind === kind).map(({ key }) => key))
  const [ingresses, secrets] = [keysOf('Ingress'), keysOf('Secret')]
  const hosts = new Map(Array.from(table.hosts, ([host, routes]) => [host, withoutIngresses(routes, ingresses)]))
  const used = new Set(Array.from(hosts.values()).flatMap((routes) => routesOf(routes).map(({ backend }) => backend)))
  return {
    hosts,
    backends: new Map(Array.from(table.backends).filter(([id]) => used.has(id))),
    certificates: table.certificates.filter(({ secret }) => !secrets.has(secret)),
  }
}

/**
 * Finds what haproxy refuses: an object that its message names by the file of a certificate, else one by halves, each time with a check of a
 * table without the rest. `check` throws HaproxyError (`refused-config`) for a table that haproxy does not take. Returns what to leave out.
 */
export async function isolate(
  table: RoutingTable,
  check: (table: RoutingTable) => Promise<void>,
): Promise<readonly RoutingRefusal[]> {
  const refusals: RoutingRefusal[] = []
  for (;;) {
    const rest = withoutObjects(table, refusals)
    const refused = await refusalOf(rest, check)
    if (refused === undefined) return refusals
    const named = namedCertificate(rest, refused.message)
    const found = named ?? (await halve(rest, check))
    if (found === undefined) throw refused
    refusals.push({ ...found, reason: refused.message })
  }
}

async function refusalOf(
  table: RoutingTable,
  check: (table: RoutingTable) => Promise<void>,
): Promise<HaproxyError | undefined> {
  try {
    await check(table)
    return undefined
  } catch (thrown) {
    if (thrown instanceof HaproxyError && thrown.code === 'refused-config') return thrown
    throw thrown
  }
}

/** Searches among the objects of a table: one half alone is refused if it has the culprit. Undefined if each object alone is taken. */
async function halve(table: RoutingTable, check: (table: RoutingTable) => Promise<void>): Promise<Suspect | undefined> {
  const all = objectsOf(table)
  const isRefused = async (some: ReadonlySet<Suspect>) => {
    const others = all.filter((each) => !some.has(each))
    return (await refusalOf(withoutObjects(table, others), check)) !== undefined
  }
  let left = all
  while (left.length > 1) {
    const middle = left.length >> 1
    left = (await isRefused(new Set(left.slice(0, middle)))) ? left.slice(0, middle) : left.slice(middle)
  }
  return left.length === 1 && (await isRefused(new Set(left))) ? left[0] : undefined
}

function objectsOf(table: RoutingTable): readonly Suspect[] {
  const ingresses = new Set(Array.from(table.hosts.values()).flatMap((host) => routesOf(host).map(ingressOf)))
  const secrets = new Set(table.certificates.map(({ secret }) => secret))
  return [
    ...Array.from(secrets, (key): Suspect => ({ kind: 'Secret', key })),
    ...Array.from(ingresses, (key): Suspect => ({ kind: 'Ingress', key })),
  ]
}

/** The Secret whose certificate file a text names. */
export function namedCertificate({ certificates }: RoutingTable, text: string): Suspect | undefined {
  const fallback = findDefaultCertificate(certificates)
  if (fallback !== undefined && text.includes(defaultCertificateFile)) return { kind: 'Secret', key: fallback.secret }
  const found = certificateFiles(certificates).find(({ file }) => text.includes(file))
  return found && { kind: 'Secret', key: found.certificate.secret }
}

function withoutIngresses(routes: HostRoutes, ingresses: ReadonlySet<ObjectKey>): HostRoutes {
  const keep = (paths: ReadonlyMap<string, Route>) =>
    new Map(Array.from(paths).filter(([, { ingress }]) => !ingresses.has(ingress)))
  const { fallback } = routes
  return {
    exact: keep(routes.exact),
    prefix: keep(routes.prefix),
    longestPrefix: routes.longestPrefix,
    ...(fallback !== undefined && !ingresses.has(fallback.ingress) && { fallback }),
  }
}

function routesOf({ exact, prefix, fallback }: HostRoutes): readonly Route[] {
  return [...exact.values(), ...prefix.values(), ...(fallback === undefined ? [] : [fallback])]
}

function ingressOf({ ingress }: Route): ObjectKey {
  return ingress
}
