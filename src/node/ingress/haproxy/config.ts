import { createHash } from 'node:crypto'
import { unspecifiedIpv6 } from '../../../model/ip.ts'
import type { RoutingTable } from '../../../model/routing-table.ts'
import {
  certificateFiles,
  certificateList,
  defaultCertificateFile,
  findDefaultCertificate,
  listLine,
  pemText,
} from './certificates.ts'
import { handoverBackends, handoverBinds, tlsOptions } from './handover.ts'
import type { HeldProxy, Holding } from './holding.ts'
import { linesOf, type MapName, mapNames } from './map-entries.ts'
import { bodyLimitLines, bodyLimitScript, bodyLimitText, measuredSections } from './measured-bodies.ts'
import { profileOfProxy, serverOptions } from './profile.ts'
import { clientsTable, countersTable, listenerRules, unroutedProxy } from './rules.ts'
import { filesFolderOf, type HaproxySettings, haproxyPaths, ownConnections, writesLines } from './settings.ts'
import { countedCodes } from './status-codes.ts'

export const configFile = 'haproxy.cfg'

/** User and group of the workers unless given. */
const workerUser = 'haproxy'
/** Time that one attempt to connect to an endpoint may take; the next attempt goes to another endpoint. */
const connectTimeoutMs = 2000
const retries = 2
/** Longest silence of a WebSocket or another tunnel. */
const tunnelTimeoutMs = 3_600_000
/** Age at which a worker that a reload replaced ends its last connections. */
const hardStopMs = 600_000
/** Space in a buffer for the headers that rules add. */
const rewriteBytes = 2048

/** Files of haproxy by name relative to their folder: configuration, maps, list of certificates, certificates with keys. */
export type HaproxyFiles = ReadonlyMap<string, string>

/** Writes all files. Certificates have to be of the table that the holding was made of; haproxy reports the generation in its description. */
export function renderFiles(
  settings: HaproxySettings,
  { holding, generation }: { readonly holding: Holding; readonly generation: number },
  certificates: RoutingTable['certificates'],
): HaproxyFiles {
  const files = new Map([[configFile, renderConfig(settings, holding, generation)]])
  files.set(bodyLimitScript, bodyLimitText(settings.limits, errorTexts[413]))
  for (const name of mapNames) files.set(mapFile(name), '')
  for (const [name, lines] of renderMaps(holding)) files.set(mapFile(name), `${lines.join('\n')}\n`)
  const fallback = findDefaultCertificate(certificates)
  const listed = certificateFiles(certificates)
  if (fallback !== undefined) files.set(defaultCertificateFile, pemText(fallback))
  for (const { file, certificate } of listed) files.set(file, pemText(certificate))
  const lines = listed.map(({ file, hosts }) => listLine(file, hosts))
  const first = fallback === undefined ? [] : [listLine(defaultCertificateFile, [])]
  files.set(certificateList, [...first, ...lines].map((line) => `${line}\n`).join(''))
  return files
}

function mapFile(name: MapName): string {
  return `${name}.map`
}

/** Computes what only a reload can change, as haproxy reports it in its description: settings, and whether there is a default certificate. */
export function settingsHash(settings: HaproxySettings, hasDefaultCertificate: boolean): string {
  const text = staticLines(settings, hasDefaultCertificate, { description: '', generation: 0 }).join('\n')
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

/** Bytes that one command of the runtime socket may have, its payload included. */
export function maxCommandBytes({ limits }: Pick<HaproxySettings, 'limits'>): number {
  return limits.maxHeaderBytes + rewriteBytes - 512
}

function renderConfig(settings: HaproxySettings, holding: Holding, generation: number): string {
  const hasDefault = holding.defaultCertificate !== undefined
  const description = `platnet ${settingsHash(settings, hasDefault)} ${generation}`
  const lines = [...staticLines(settings, hasDefault, { description, generation })]
  for (const [name, proxy] of holding.proxies) lines.push(...proxyLines(name, proxy))
  return `${lines.join('\n')}\n`
}

interface Version {
  readonly description: string
  readonly generation: number
}

function staticLines(settings: HaproxySettings, hasDefault: boolean, version: Version): readonly string[] {
  return [
    ...section('global', globalLines(settings, version)),
    ...section('defaults', defaultLines(settings)),
    ...section(`backend ${countersTable}`, counterLines()),
    ...section(`backend ${clientsTable}`, clientLines(settings)),
    ...section('frontend ingress', [...bindLines(settings, hasDefault), ...listenerRules(settings)]),
    ...handoverBackends().flatMap(({ name, lines }) => section(`backend ${name}`, lines)),
    ...measuredSections(settings, haproxyPaths(settings.folder), checkedName(settings.user ?? workerUser)).flatMap(
      ({ title, lines }) => section(title, lines),
    ),
    ...section(`backend ${unroutedProxy}`, [
      String.raw`http-request return status 404 content-type text/plain string "no Ingress has a route for this host and path\n"`,
    ]),
  ]
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return [title, ...lines.map((line) => `  ${line}`)]
}

function globalLines(settings: HaproxySettings, { description, generation }: Version): readonly string[] {
  const { user = workerUser, group = workerUser, threads, limits } = settings
  const paths = haproxyPaths(settings.folder)
  return [
    'default-path config',
    `description "${description}"`,
    `user ${checkedName(user)}`,
    `group ${checkedName(group)}`,
    `chroot ${paths.emptyRoot}`,
    `stats socket ${paths.runtimeSocket} mode 600 level admin expose-fd listeners`,
    'stats timeout 1m',
    `hard-stop-after ${hardStopMs}ms`,
    ...(threads === undefined ? [] : [`nbthread ${threads}`]),
    `maxconn ${limits.maxConnections + ownConnections(limits)}`,
    ...bodyLimitLines(limits, filesFolderOf(settings.folder, generation)),
    `tune.bufsize ${limits.maxHeaderBytes + rewriteBytes}`,
    `tune.maxrewrite ${rewriteBytes}`,
    'tune.h2.max-concurrent-streams 100',
    'ssl-default-bind-options ssl-min-ver TLSv1.2',
    'ssl-default-bind-ciphers ECDHE+AESGCM:ECDHE+CHACHA20',
  ]
}

function defaultLines(settings: HaproxySettings): readonly string[] {
  const { limits } = settings
  const { headerTimeoutMs, idleTimeoutMs, backendTimeoutMs } = limits
  return [
    'mode http',
    ...(writesLines(settings) ? logLines(settings) : []),
    'option dontlognull',
    // Otherwise a reload may close a connection on which a request is on its way.
    'option idle-close-on-response',
    `timeout http-request ${headerTimeoutMs}ms`,
    `timeout http-keep-alive ${idleTimeoutMs}ms`,
    `timeout client ${idleTimeoutMs}ms`,
    // haproxy 2.6 forgets `timeout client` where the endpoint answers before a body that then stops: the client could stay for ever.
    `timeout client-fin ${idleTimeoutMs}ms`,
    `timeout connect ${connectTimeoutMs}ms`,
    `timeout server ${backendTimeoutMs}ms`,
    `timeout tunnel ${tunnelTimeoutMs}ms`,
    `retries ${retries}`,
    'retry-on conn-failure',
    'option redispatch 1',
    ...Object.entries(errorTexts).map(
      ([status, text]) => String.raw`http-error status ${status} content-type text/plain string "${text}\n"`,
    ),
  ]
}

const errorTexts = {
  400: 'bad request',
  403: 'forbidden',
  405: 'method not allowed',
  408: 'the request took too long',
  413: 'the body of the request is too large',
  429: 'too many requests',
  500: 'internal error',
  502: 'the endpoint gave no valid answer',
  503: 'the Service has no endpoint that answers',
  504: 'the endpoint did not answer in time',
} as const

/** A line of the access log is a JSON object; `src/node/ingress/haproxy/access-log.ts` reads it. */
function logLines({ accessLog, tracing }: HaproxySettings): readonly string[] {
  const fields = [
    '"client":"%ci"',
    '"protocol":"%HV"',
    '"tls":%[ssl_fc,iif(true,false)]',
    '"method":"%[var(txn.logmethod)]"',
    '"host":"%[var(txn.loghost)]"',
    '"path":"%[var(txn.logpath)]"',
    '"status":%ST',
    '"durationMs":%Ta',
    '"bytes":%B',
    '"requestId":"%[var(txn.logid)]"',
    '"pattern":"%[var(txn.host)]"',
    '"route":"%[var(txn.route)]"',
    '"endpoint":"%si:%sp"',
    '"state":"%ts"',
    '"measured":"%[var(txn.endpoint)]"',
    ...(tracing === undefined ? [] : spanFields),
  ]
  const sample = tracing === undefined ? sampleOf(accessLog) : ''
  return [`log stdout len 4096${sample} format raw local0`, `log-format '{${fields.join(',')}}'`]
}

/** `line`: whether the request gets a line also without its span. */
const spanFields = [
  '"line":"%[var(txn.line)]"',
  '"trace":"%[var(txn.trace)]"',
  '"span":"%[var(txn.span)]"',
  '"parent":"%[var(txn.parent)]"',
  '"sampled":"%[var(txn.sampled)]"',
  '"endMs":%[date(0,ms)]',
]

/** Lets haproxy choose a share of the lines, evenly. */
function sampleOf(share: number): string {
  const thousandths = Math.min(1000, Math.max(1, Math.round(share * 1000)))
  const common = commonDivisor(thousandths, 1000)
  const [logged, of] = [thousandths / common, 1000 / common]
  return logged === of ? '' : ` sample ${logged === 1 ? '' : '1-'}${logged}:${of}`
}

function commonDivisor(one: number, other: number): number {
  return other === 0 ? one : commonDivisor(other, one % other)
}

/** An entry is about 500 bytes: the largest table takes 8 MB. */
function counterLines(): readonly string[] {
  return [
    `stick-table type string len 320 size 16384 store gpc(${countedCodes.length})`,
    // No request comes here: haproxy loads a map only if some rule has it.
    'http-request deny if { always_false } { str(x),map_str(backends.map) -m found }',
  ]
}

function clientLines({ limits }: HaproxySettings): readonly string[] {
  if (limits.connectionsPerClient === 0 && limits.requestsPerClient === 0) return []
  const rate = limits.requestsPerClient === 0 ? '' : ',http_req_rate(1s)'
  return [`stick-table type ipv6 size 100k expire 30s store conn_cur${rate}`]
}

function bindLines(settings: HaproxySettings, hasDefault: boolean): readonly string[] {
  const { httpAddresses, httpsAddresses, limits, user = workerUser } = settings
  const tls = tlsOptions(hasDefault)
  const bind = ({ ip, port }: (typeof httpAddresses)[number], options: string) =>
    `bind ${ip.includes(':') ? `[${ip}]` : ip}:${port}${ip === unspecifiedIpv6 ? ' v6only' : ''}${options}`
  return [
    `maxconn ${limits.maxConnections}`,
    ...httpAddresses.map((address) => bind(address, '')),
    ...httpsAddresses.map((address) => bind(address, tls)),
    ...handoverBinds(haproxyPaths(settings.folder), checkedName(user), tls),
  ]
}

function* renderMaps({ routes, proxies }: Holding): Generator<readonly [MapName, readonly string[]]> {
  const lines = Object.fromEntries(mapNames.map((name): [MapName, string[]] => [name, []]))
  for (const [pattern, entries] of routes)
    for (const { map, key, value } of linesOf(pattern, entries)) lines[map]?.push(`${key} ${value}`)
  for (const [name, { backend }] of proxies) if (backend !== undefined) lines['backends']?.push(`${name} ${backend}`)
  for (const name of mapNames) {
    const own = lines[name] ?? []
    if (own.length > 0) yield [name, own]
  }
}

function proxyLines(name: string, { servers }: HeldProxy): readonly string[] {
  const profile = profileOfProxy(name)
  if (profile === undefined) return []
  return section(`backend ${name}`, [
    `balance ${profile.balance === 'round-robin' ? 'roundrobin' : 'leastconn'}`,
    ...(profile.cookie === undefined ? [] : cookieLines(profile.cookie)),
    ...servers.map((server) => {
      const address = `${server.ip.includes(':') ? `[${server.ip}]` : server.ip}:${server.port}`
      return `server ${server.name} ${address}${serverOptions(profile)}${server.isUp ? '' : ' disabled'}`
    }),
  ])
}

/** The cookie's value is made of the endpoint's address, so it stays what it is whatever server has the endpoint. */
function cookieLines(cookie: string): readonly string[] {
  return [`cookie ${cookie} insert indirect nocache httponly dynamic`, 'dynamic-cookie-key platnet']
}

function checkedName(name: string): string {
  if (!/^[a-z_][a-z0-9_-]{0,31}$/.test(name)) throw new TypeError(`expected the name of a user or group, got ${name}`)
  return name
}
