import { parseIp } from '../../../model/ip.ts'
import { certificateList, defaultCertificateFile } from './certificates.ts'
import { HaproxyError } from './errors.ts'
import type { HeldProxy, Holding, ListedCertificate, Server } from './holding.ts'
import { anyHostKey, type HostEntries, type MapName, mapNames } from './map-entries.ts'
import { profileOfProxy } from './profile.ts'

/** Answers of haproxy to the commands of `holdingCommands`. */
export interface HoldingAnswers {
  readonly backends: string
  readonly servers: string
  readonly maps: Readonly<Record<MapName, string>>
  readonly certificateList: string
  readonly defaultCertificate: string
}

/** The commands that show all that a table can change. */
export const holdingCommands = {
  backends: 'show backend',
  servers: 'show servers state',
  map: (name: MapName) => `show map ${name}.map`,
  certificateList: `show ssl crt-list -n ${certificateList}`,
  defaultCertificate: `show ssl cert ${defaultCertificateFile}`,
}

/** Reads what haproxy holds. Throws HaproxyError (`unreadable-answer`). */
export function readHolding(answers: HoldingAnswers): Holding {
  const maps = Object.fromEntries(mapNames.map((name) => [name, readMap(answers.maps[name])]))
  const users = maps['backends'] ?? new Map<string, string>()
  const servers = readServers(answers.servers)
  const proxies = new Map<string, HeldProxy>()
  for (const name of readProxyNames(answers.backends)) {
    const backend = users.get(name)
    proxies.set(name, { servers: servers.get(name) ?? [], ...(backend !== undefined && { backend }) })
  }
  const places = new Map(Array.from(users, ([proxy, backend]) => [backend, proxy]))
  const certificates = readCertificates(answers.certificateList)
  const fallback = /^SHA1 FingerPrint: ([0-9A-F]{40})$/m.exec(answers.defaultCertificate)?.[1]?.toLowerCase()
  return {
    proxies,
    places,
    routes: readRoutes(maps),
    certificates,
    ...(fallback !== undefined && { defaultCertificate: fallback }),
    ...(areBroken(answers.maps, maps) && { hasBrokenMaps: true }),
  }
}

/** Maps are broken where a key is there twice, or where routes are of a host that is not known. */
function areBroken(
  texts: HoldingAnswers['maps'],
  maps: Readonly<Record<string, ReadonlyMap<string, string>>>,
): boolean {
  const linesOf = (text: string) => text.split('\n').filter((line) => line !== '').length
  if (mapNames.some((name) => linesOf(texts[name]) !== maps[name]?.size)) return true
  const hosts = new Set(Array.from(maps['paths']?.keys() ?? [], (key) => key.slice(0, hostLength(key))))
  return Array.from(hosts).some((host) => host !== anyHostKey && !maps['hosts']?.has(host))
}

function readProxyNames(text: string): readonly string[] {
  return text.split('\n').filter((name) => profileOfProxy(name) !== undefined)
}

/** Reads `show servers state`: columns by the names in its second line. */
function readServers(text: string): ReadonlyMap<string, readonly Server[]> {
  const [version, header = '', ...lines] = text.split('\n')
  if (version !== '1') throw unreadable('show servers state', text)
  const columns = header.replace(/^# /, '').split(' ')
  const servers = new Map<string, Server[]>()
  for (const line of lines) {
    const fields = line.split(' ')
    const { owner, server } = readServer((column) => fields[columns.indexOf(column)] ?? '')
    if (server === undefined || profileOfProxy(owner) === undefined) continue
    servers.getOrInsert(owner, []).push(server)
  }
  return servers
}

function readServer(field: (column: string) => string): {
  readonly owner: string
  readonly server: Server | undefined
} {
  const ip = parseIp(field('srv_addr'))
  const [name, port, isUp] = [field('srv_name'), Number(field('srv_port')), field('srv_admin_state') === '0']
  return { owner: field('be_name'), server: ip && { name, ip, port, isUp } }
}

/** Reads `show map`: a reference, the key, and the value to the end of the line. */
function readMap(text: string): ReadonlyMap<string, string> {
  const lines = text.split('\n').filter((line) => line !== '')
  return new Map(
    lines.map((line) => {
      const [, key, value] = /^0x[0-9a-f]+ (\S+) (.*)$/.exec(line) ?? []
      if (key === undefined || value === undefined) throw unreadable('show map', line)
      return [key, value] as const
    }),
  )
}

interface WritableEntries {
  readonly exact: Map<string, string>
  readonly prefix: Map<string, string>
  fallback?: string
}

function readRoutes(maps: Readonly<Record<string, ReadonlyMap<string, string>>>): ReadonlyMap<string, HostEntries> {
  const routes = new Map<string, WritableEntries>()
  const entriesOf = (host: string): WritableEntries => {
    const pattern = host === anyHostKey ? '' : host
    const entries = routes.get(pattern) ?? { exact: new Map(), prefix: new Map() }
    routes.set(pattern, entries)
    return entries
  }
  for (const host of maps['hosts']?.keys() ?? []) entriesOf(host)
  for (const [key, value] of maps['paths'] ?? []) {
    const length = hostLength(key)
    const [entries, path] = [entriesOf(key.slice(0, length)), key.slice(length)]
    if (path === '#') entries.fallback = value
    else if (path.endsWith('/#')) entries.exact.set(path.slice(0, -2), value)
    else entries.prefix.set(path.slice(0, -1), value)
  }
  return routes
}

/** A host in the key of a path ends before its path, or before the sign of a fallback. */
function hostLength(key: string): number {
  return key.search(/[/#]/)
}

/** Reads `show ssl crt-list -n`: `FILE:LINE NAMES`. */
function readCertificates(text: string): ReadonlyMap<string, ListedCertificate> {
  const lines = text.split('\n').filter((line) => line.startsWith('certificates/'))
  const listed = lines.map((line) => {
    const [file = '', ...hosts] = line.split(' ')
    return [file.replace(/:\d+$/, ''), { hosts: hosts.filter((host) => !host.startsWith('[')).sort() }] as const
  })
  return new Map(listed.filter(([file]) => file !== defaultCertificateFile))
}

function unreadable(command: string, text: string): HaproxyError {
  return new HaproxyError('unreadable-answer', `haproxy answered ${command} with ${JSON.stringify(text.slice(0, 200))}`)
}
