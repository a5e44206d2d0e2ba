import type { Backend, HostPattern, RoutingTable } from '../../../model/routing-table.ts'
import { certificateFiles, certificateHash, findDefaultCertificate } from './certificates.ts'
import type { HeldProxy, Holding, Server } from './holding.ts'
import { type HostEntries, hostEntries, type RefusedRoute } from './map-entries.ts'
import {
  type Profile,
  plainProfiles,
  profileName,
  profileOf,
  profileOfProxy,
  proxyName,
  spareCount,
} from './profile.ts'

/** Result of `holdTable`. */
interface HeldTable {
  readonly holding: Holding
  readonly refused: ReadonlyMap<HostPattern, readonly RefusedRoute[]>
}

/** Makes the holding of a whole table for new files. A backend keeps the place it has in `earlier`, if that is of its profile. */
export function holdTable(table: RoutingTable, earlier?: Pick<Holding, 'places'>): HeldTable {
  const places = placeBackends(table.backends, earlier?.places ?? new Map())
  const routes = new Map<string, HostEntries>()
  const refused = new Map<HostPattern, readonly RefusedRoute[]>()
  for (const [pattern, hostRoutes] of table.hosts) {
    const made = hostEntries(pattern, hostRoutes, (backend) => places.get(backend))
    if (made.entries !== undefined) routes.set(pattern, made.entries)
    refused.set(pattern, made.refused)
  }
  const fallback = findDefaultCertificate(table.certificates)
  const defaultCertificate = fallback && certificateHash(fallback.chainPem)
  const certificates = new Map(certificateFiles(table.certificates).map(({ file, hosts }) => [file, { hosts }]))
  const proxies = makeProxies(table.backends, places)
  return {
    holding: { proxies, places, routes, certificates, ...(defaultCertificate && { defaultCertificate }) },
    refused,
  }
}

/** The name of the first server is `s1`. */
export function serverName(number: number): string {
  return `s${number}`
}

function placeBackends(
  backends: RoutingTable['backends'],
  earlier: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const places = new Map<string, string>()
  for (const [id, backend] of backends) {
    const profile = profileOf(backend)
    const place = earlier.get(id)
    const had = place === undefined ? undefined : profileOfProxy(place)
    if (place && profile && had && profileName(had) === profileName(profile)) places.set(id, place)
  }
  const taken = new Set(places.values())
  const next = new Map<string, number>()
  for (const [id, backend] of backends) {
    const profile = profileOf(backend)
    if (places.has(id) || profile === undefined) continue
    const place = freePlace(profile, taken, next)
    taken.add(place)
    places.set(id, place)
  }
  return places
}

function freePlace(profile: Profile, taken: ReadonlySet<string>, next: Map<string, number>): string {
  const name = profileName(profile)
  for (let number = next.get(name) ?? 1; ; number += 1) {
    const place = proxyName(profile, number)
    if (taken.has(place)) continue
    next.set(name, number + 1)
    return place
  }
}

function makeProxies(
  backends: RoutingTable['backends'],
  places: ReadonlyMap<string, string>,
): ReadonlyMap<string, HeldProxy> {
  const proxies = new Map<string, HeldProxy>()
  const profiles = new Map(plainProfiles.map((profile) => [profileName(profile), profile]))
  const used = new Map<string, number>()
  for (const [id, place] of places) {
    const backend = backends.get(id)
    const profile = profileOfProxy(place)
    if (backend === undefined || profile === undefined) continue
    const name = profileName(profile)
    profiles.set(name, profile)
    used.set(name, (used.get(name) ?? 0) + 1)
    proxies.set(place, { backend: id, servers: makeServers(backend) })
  }
  for (const [name, profile] of profiles) addSpares(proxies, profile, used.get(name) ?? 0)
  return proxies
}

function addSpares(proxies: Map<string, HeldProxy>, profile: Profile, used: number): void {
  let missing = spareCount(profile, used)
  for (let number = 1; missing > 0; number += 1) {
    const place = proxyName(profile, number)
    if (proxies.has(place)) continue
    proxies.set(place, { servers: [] })
    missing -= 1
  }
}

function makeServers({ endpoints }: Backend): readonly Server[] {
  return endpoints.map(({ ip, port }, index) => ({ name: serverName(index + 1), ip, port, isUp: true }))
}
