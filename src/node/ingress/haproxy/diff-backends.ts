import type { Backend, RoutingTable } from '../../../model/routing-table.ts'
import type { Command } from './command.ts'
import { addEntries, deleteEntry } from './diff-routes.ts'
import { serverName } from './hold-table.ts'
import type { HeldProxy, Holding, Server } from './holding.ts'
import { type Profile, profileName, profileOf, profileOfProxy, serverOptions } from './profile.ts'

/** Commands for backends: `before` makes new endpoints serve, `after` takes requests off those that are gone. */
export interface BackendCommands {
  readonly before: Command[]
  readonly after: Command[]
  /** The proxies of the holding after these commands. */
  readonly proxies: Map<string, HeldProxy>
  readonly places: Map<string, string>
  /** Set where some backend found no spare proxy. */
  readonly missing?: string
}

/** Compares these backends with what haproxy holds. A new backend takes a spare proxy of its profile, a removed one leaves its proxy spare. */
export function diffBackends(
  held: Holding,
  backends: RoutingTable['backends'],
  ids: Iterable<string>,
): BackendCommands {
  const result: BackendCommands = {
    before: [],
    after: [],
    proxies: new Map(held.proxies),
    places: new Map(held.places),
  }
  const spare = new SpareProxies(held)
  for (const id of ids) {
    const backend = backends.get(id)
    const place = held.places.get(id)
    const profile = backend && profileOf(backend)
    const stays = place !== undefined && profile !== undefined && isOfProfile(place, profile)
    if (place !== undefined && !stays) release(result, place)
    if (backend === undefined || profile === undefined) continue
    const chosen = stays ? place : spare.take(profile)
    if (chosen === undefined) return { ...result, missing: profileName(profile) }
    if (!stays) occupy(result, chosen, id)
    setServers(result, chosen, backend, profile)
  }
  return result
}

export function isOfProfile(proxy: string, profile: Profile): boolean {
  const own = profileOfProxy(proxy)
  return own !== undefined && profileName(own) === profileName(profile)
}

/** Spare proxies by profile; listed once some backend needs one, because there may be thousands. */
class SpareProxies {
  readonly #held: Holding
  #names: Map<string, string[]> | undefined

  constructor(held: Holding) {
    this.#held = held
  }

  take(profile: Profile): string | undefined {
    this.#names ??= this.#list()
    return this.#names.get(profileName(profile))?.pop()
  }

  #list(): Map<string, string[]> {
    const names = new Map<string, string[]>()
    for (const [name, { backend }] of this.#held.proxies) {
      const profile = profileOfProxy(name)
      if (backend !== undefined || profile === undefined) continue
      names.getOrInsert(profileName(profile), []).push(name)
    }
    for (const list of names.values()) list.reverse()
    return names
  }
}

function occupy(result: BackendCommands, place: string, id: string): void {
  result.places.set(id, place)
  result.proxies.set(place, { servers: result.proxies.get(place)?.servers ?? [], backend: id })
  result.before.push(...addEntries([{ map: 'backends', key: place, value: id }]))
}

function release(result: BackendCommands, place: string): void {
  const { backend, servers } = result.proxies.get(place) ?? { servers: [] }
  if (backend !== undefined) result.places.delete(backend)
  result.after.push(...servers.filter(({ isUp }) => isUp).map(({ name }) => stopServer(place, name)))
  result.after.push(deleteEntry({ map: 'backends', key: place }))
  result.proxies.set(place, { servers: servers.map((server) => ({ ...server, isUp: false })) })
}

/** A server that waits with the right address is preferred, then any that waits; a new one is added where none does. */
function setServers(result: BackendCommands, place: string, { id, endpoints }: Backend, profile: Profile): void {
  const servers = result.proxies.get(place)?.servers ?? []
  const wanted = new Map(endpoints.map((endpoint) => [addressOf(endpoint), endpoint]))
  const next = new Map(servers.map((server) => [server.name, server]))
  for (const server of servers.filter(({ isUp }) => isUp)) {
    if (wanted.delete(addressOf(server))) continue
    result.after.push(stopServer(place, server.name))
    next.set(server.name, { ...server, isUp: false })
  }
  const waiting = servers.filter(({ isUp }) => !isUp)
  for (const [address, endpoint] of wanted) {
    const found = takeServer(waiting, address)
    const name = found?.name ?? serverName(next.size + 1)
    const server: Server = { name, ...endpoint, isUp: true }
    result.before.push(...startServer(place, server, found, profile))
    next.set(name, server)
  }
  result.proxies.set(place, { backend: id, servers: [...next.values()] })
}

function takeServer(waiting: Server[], address: string): Server | undefined {
  const same = waiting.findIndex((server) => addressOf(server) === address)
  return waiting.splice(Math.max(0, same), 1)[0]
}

function startServer(place: string, server: Server, had: Server | undefined, profile: Profile): readonly Command[] {
  const { name, ip, port } = server
  const ready = { text: `set server ${place}/${name} state ready` }
  if (had === undefined) {
    const text = `add server ${place}/${name} ${addressOf(server)}${serverOptions(profile)}`
    return [{ text, success: /^New server registered\.$/ }, ready]
  }
  if (addressOf(had) === addressOf(server)) return [ready]
  const success = /^(IP changed|port changed|no need to change)/
  return [{ text: `set server ${place}/${name} addr ${ip} port ${port}`, success }, ready]
}

function stopServer(place: string, name: string): Command {
  return { text: `set server ${place}/${name} state maint` }
}

function addressOf({ ip, port }: Pick<Server, 'ip' | 'port'>): string {
  return `${ip.includes(':') ? `[${ip}]` : ip}:${port}`
}
