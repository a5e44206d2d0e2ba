import { handoverRules } from './handover.ts'
import type { HaproxySettings } from './settings.ts'
import { codeConditions, countedCodes } from './status-codes.ts'

/** Names of what is no Service: counters of Ingresses, of clients, and the answer 404. */
export const countersTable = 'counters'
export const clientsTable = 'clients'
export const unroutedProxy = 'unrouted'

/** `reg-name` without quotes, or an address in brackets, with or without a port (RFC 3986 section 3.2.2). */
const validHost = String.raw`^(?:[A-Za-z0-9._~!$&()*+,;=%-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?$`
const validRequestId = '^[A-Za-z0-9._:+/=@-]{1,128}$'
/** Version, trace, parent and flags; later versions may have more (https://www.w3.org/TR/trace-context/, section 3.2). */
const validTraceparent =
  '^(?:00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}|(?!00|ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?)$'

/** The rules of a listener, from the connection to the choice of a proxy. */
export function listenerRules(settings: HaproxySettings): readonly string[] {
  return [
    ...connectionRules(settings),
    ...handoverRules,
    ...strictnessRules(),
    ...limitRules(settings),
    ...routeRules(),
    ...headerRules(),
    ...logRules(settings),
    ...countRules(),
    'use_backend %[var(txn.route),field(1,|)]',
    `default_backend ${unroutedProxy}`,
  ]
}

function connectionRules({ limits }: HaproxySettings): readonly string[] {
  const { connectionsPerClient, requestsPerClient } = limits
  if (connectionsPerClient === 0 && requestsPerClient === 0) return []
  const track = `tcp-request connection track-sc1 src table ${clientsTable}`
  const reject = `tcp-request connection reject if { sc_conn_cur(1) gt ${connectionsPerClient} }`
  return connectionsPerClient === 0 ? [track] : [track, reject]
}

/** Refuses what haproxy 2.6 lets through although RFC 9112 calls it ambiguous or wrong. */
function strictnessRules(): readonly string[] {
  const refuse = 'http-request deny deny_status 400 if'
  return [
    'http-request deny deny_status 405 if METH_CONNECT',
    // RFC 9110 section 5.5.
    String.raw`${refuse} { req.hdrs -m reg '\x00' }`,
    // RFC 9112 section 6.1.
    `${refuse} { req.fhdr(transfer-encoding) -m found } { req.ver 1.0 }`,
  ]
}

function limitRules({ limits }: HaproxySettings): readonly string[] {
  const { maxBodyBytes, requestsPerClient } = limits
  return [
    ...(requestsPerClient === 0
      ? []
      : [`http-request deny deny_status 429 if { sc_http_req_rate(1) gt ${requestsPerClient} }`]),
    ...(maxBodyBytes === 0 ? [] : [`http-request deny deny_status 413 if { req.body_size gt ${maxBodyBytes} }`]),
  ]
}

/**
 * Finds the host pattern (`txn.host`) and the route (`txn.route`, `PROXY|CLASS|INGRESS`) of a request: `node/ingress/match.ts`.
 * The first rule alone finds a host that is written as in its Ingress; conditions of the others fail early then.
 */
function routeRules(): readonly string[] {
  const unknown = '!{ var(txn.host) -m found }'
  const canonical = String.raw`req.fhdr(host),host_only,lower,regsub("\.$","")`
  const absolute = '!{ url_beg / } !{ fc_http_major 2 } !{ url -m str * }'
  return [
    'http-request set-var(txn.host) req.fhdr(host),lower,map_str(hosts.map)',
    // RFC 9112 section 3.2.2; haproxy itself refuses an authority that is not the Host header.
    String.raw`http-request set-header host '%[url,regsub("^[A-Za-z][A-Za-z0-9+.-]*://([^/?]*).*","\1")]' if ${unknown} ${absolute} !{ req.fhdr(host) -m found }`,
    `http-request set-uri '%[url,regsub("^[A-Za-z][A-Za-z0-9+.-]*://[^/?]*",""),regsub("^(?!/)","/")]' if ${absolute}`,
    // RFC 9112 section 3.2; HTTP/1.0 has no Host, and what it sends there is looked up and not found.
    `http-request deny deny_status 400 if ${unknown} !{ req.ver 1.0 } !{ req.fhdr(host) -m reg '${validHost}' }`,
    `http-request set-var(txn.host) '${canonical},map_str(hosts.map)' if ${unknown}`,
    String.raw`http-request set-var(txn.host) '${canonical},regsub("^[^.]+\.","*."),map_str(hosts.map)' if ${unknown}`,
    `http-request set-var(txn.host) str(*) if ${unknown}`,
    'http-request set-var(txn.path) path',
    // The target of OPTIONS may be no path, and then begins with no prefix.
    'http-request set-var(txn.path) str(*) if !{ path -m found }',
    // Keys of paths end in `/`, of exact ones in `/#`, so that the longest one is the route (`map-entries.ts`).
    "http-request set-var(txn.route) 'var(txn.host),concat(#,txn.path,/#),map_beg(paths.map)'",
    ...fallbackRules(),
  ]
}

/** For a request that no path of its host matches, where the host has no default backend. */
function fallbackRules(): readonly string[] {
  const missing = 'if !{ var(txn.route) -m found }'
  return [
    `http-request set-var(txn.route) 'str(*#*),map_beg(paths.map)' ${missing}`,
    `http-request set-var(txn.route) str(${unroutedProxy}|none|) ${missing}`,
  ]
}

/** Headers that say who the client is, in both spellings, and those that are for this hop alone. */
const droppedHeaders = '^(?:forwarded$|x[-_]forwarded[-_]|connection$|keep-alive$|proxy-connection$|http2-settings$)'

/** Replaces what a backend believes of the client, and drops what is meant for this hop alone (RFC 9110 section 7.6.1). */
function headerRules(): readonly string[] {
  const upgrade = 'req.fhdr(upgrade)'
  return [
    `http-request del-header '${droppedHeaders}' -m reg`,
    'http-request add-header x-forwarded-for %[src]',
    'http-request add-header x-forwarded-proto %[ssl_fc,iif(https,http)]',
    'http-request add-header x-forwarded-host %[req.fhdr(host)]',
    'http-request add-header x-forwarded-port %[dst_port]',
    // A backend that changed to HTTP/2 would serve requests that no rule has seen.
    `http-request del-header upgrade if { ${upgrade} -m sub -i h2c }`,
    // Other names in Connection would make the next proxy drop the headers above.
    `http-request add-header connection upgrade if { ${upgrade} -m found }`,
    ...traceRules(),
  ]
}

function traceRules(): readonly string[] {
  const isRequestId = `{ req.fhdr(x-request-id) -m reg '${validRequestId}' } { req.fhdr_cnt(x-request-id) eq 1 }`
  const isTraced = `{ req.fhdr(traceparent) -m reg '${validTraceparent}' } { req.fhdr_cnt(traceparent) eq 1 }`
  return [
    `http-request set-header x-request-id ${randomDigits(27)} unless ${isRequestId}`,
    `http-request set-var(txn.traced) bool(true) if ${isTraced}`,
    'http-request del-header tracestate if !{ var(txn.traced) -m found }',
    `http-request set-header traceparent 00-${randomDigits(32)}-${randomDigits(16)}-00 if !{ var(txn.traced) -m found }`,
  ]
}

/** Writes a format for so many decimal digits, which are hexadecimal ones too; haproxy makes them several times faster than a UUID. */
function randomDigits(count: number): string {
  const lengths = [...Array<number>(Math.floor(count / 9)).fill(9), count % 9].filter((length) => length > 0)
  return lengths.map((length) => `%[rand(${9 * 10 ** (length - 1)}),add(${10 ** (length - 1)})]`).join('')
}

/** Texts for the access log, short enough for one write to a pipe (pipe(7), PIPE_BUF). */
function logRules({ accessLog }: HaproxySettings): readonly string[] {
  if (accessLog === 0) return []
  const text = (name: string, sample: string, bytes: number) =>
    `http-request set-var(txn.${name}) ${sample},bytes(0,${bytes}),json(utf8s)`
  return [
    text('loghost', 'req.fhdr(host),lower', 255),
    text('logpath', 'var(txn.path)', 1024),
    text('logmethod', 'method', 32),
    text('logid', 'req.fhdr(x-request-id)', 128),
  ]
}

/**
 * Counts every answer, also those that haproxy makes itself, by `CLASS|INGRESS` and status code. Only the sample `sc_inc_gpc` counts there: rules for
 * answers of haproxy have no such action in 2.6.
 */
function countRules(): readonly string[] {
  const conditions = codeConditions()
  return [
    `http-request track-sc0 var(txn.route),field(2,|,0) table ${countersTable}`,
    ...countedCodes.map(
      (_, index) => `http-after-response allow if ${conditions[index]} { sc_inc_gpc(${index},0) gt 0 }`,
    ),
  ]
}
