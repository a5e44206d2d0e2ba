import { handoverRules } from './handover.ts'
import { measuredBodyRules, measuredRouteRules } from './measured-bodies.ts'
import { isPlain } from './plain-request.ts'
import { type HaproxySettings, type TracedShare, writesLines } from './settings.ts'
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

/**
 * The rules of a listener, from the connection to the choice of a proxy. Most requests end at the first `allow`, most others at the second: the
 * rules after it are for requests whose route is not found by one look.
 */
export function listenerRules(settings: HaproxySettings): readonly string[] {
  return [
    `unique-id-format ${requestIdFormat}`,
    ...connectionRules(settings),
    ...rateRules(settings),
    ...plainRequestRules(settings),
    ...lineRules(settings),
    ...handoverRules,
    ...strictnessRules(),
    ...bodyRules(settings),
    ...measuredBodyRules(settings.limits),
    ...headerRules(settings),
    ...logRules(settings),
    ...knownRouteRules(),
    ...measuredRouteRules(settings.limits),
    ...endIfRouted,
    ...otherRouteRules(settings),
    ...measuredRouteRules(settings.limits),
    trackRule,
    ...countRules(),
    'use_backend %[var(txn.route),field(1,|)]',
    `default_backend ${unroutedProxy}`,
  ]
}

function connectionRules({ limits }: HaproxySettings): readonly string[] {
  const { connectionsPerClient, requestsPerClient } = limits
  // The text of an address costs more than the rest of its header: haproxy makes it once for all requests of a connection.
  const client = 'tcp-request session set-var(sess.client) src,concat()'
  if (connectionsPerClient === 0 && requestsPerClient === 0) return [client]
  const track = `tcp-request connection track-sc1 src table ${clientsTable}`
  const reject = `tcp-request connection reject if { sc_conn_cur(1) gt ${connectionsPerClient} }`
  return connectionsPerClient === 0 ? [track, client] : [track, reject, client]
}

const isRouted = '{ var(txn.route) -m found }'
/** Sets the counters of the Ingress; does nothing without a route, or where they are set. */
const trackRule = `http-request track-sc0 var(txn.route),field(2,|,2) table ${countersTable}`
const endIfRouted = [trackRule, `http-request allow if ${isRouted}`]

/**
 * Serves a plain request by as few rules as can be: nothing of it is refused, dropped or replaced. The rules after these take all other requests, and
 * every request where traces are exported. They make the headers anew, as the client may have sent some of their names.
 */
function plainRequestRules(settings: HaproxySettings): readonly string[] {
  if (settings.tracing !== undefined) return []
  return [
    `http-request set-var(txn.route) ${lookedUp} if ${isPlain}`,
    ...clientRules,
    `http-request add-header x-request-id %[unique-id] if ${isRouted}`,
    `http-request add-header traceparent ${madeTraceparent} if ${isRouted}`,
    ...logRules(settings),
    ...endIfRouted,
  ]
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

function rateRules({ limits }: HaproxySettings): readonly string[] {
  const { requestsPerClient } = limits
  if (requestsPerClient === 0) return []
  return [`http-request deny deny_status 429 if { sc_http_req_rate(1) gt ${requestsPerClient} }`]
}

function bodyRules({ limits }: HaproxySettings): readonly string[] {
  const { maxBodyBytes } = limits
  return maxBodyBytes === 0 ? [] : [`http-request deny deny_status 413 if { req.body_size gt ${maxBodyBytes} }`]
}

/** Tells that the target is an absolute URL (RFC 9112 section 3.2.2). haproxy writes every target of HTTP/2 so. */
const absolute = '!{ url_beg / } !{ fc_http_major 2 } !{ url -m str * }'

const lookedUp = "'base,concat(/#),map_beg(paths.map)'"

/**
 * Finds the route (`txn.route`, `PROXY|CLASS|INGRESS`) of a request by one look, where its host is written as in an Ingress and one of the paths
 * of that host matches. `base` is host and path; it cuts a host at a comma and takes one with a slash, so the host has to be a known one.
 */
function knownRouteRules(): readonly string[] {
  const isKnown = '{ req.fhdr(host) -m str -M -f hosts.map }'
  return [
    `http-request set-var(txn.route) ${lookedUp} if { url_beg / } ${isKnown} or { fc_http_major 2 } { path -m found } ${isKnown}`,
  ]
}

/** Finds the host pattern (`txn.host`) and the route of all other requests: `node/ingress/match.ts`. */
function otherRouteRules(settings: HaproxySettings): readonly string[] {
  const unknown = '!{ var(txn.host) -m found }'
  const canonical = String.raw`req.fhdr(host),host_only,lower,regsub("\.$","")`
  return [
    // haproxy itself refuses an authority that is not the Host header.
    String.raw`http-request set-header host '%[url,regsub("^[A-Za-z][A-Za-z0-9+.-]*://([^/?]*).*","\1")]' if ${absolute} !{ req.fhdr(host) -m found }`,
    `http-request set-header x-forwarded-host %[req.fhdr(host)] if ${absolute}`,
    ...(writesLines(settings) ? [logHostRule] : []),
    `http-request set-uri '%[url,regsub("^[A-Za-z][A-Za-z0-9+.-]*://[^/?]*",""),regsub("^(?!/)","/")]' if ${absolute}`,
    // RFC 9112 section 3.2; HTTP/1.0 has no Host, and what it sends there is looked up and not found.
    `http-request deny deny_status 400 if !{ req.ver 1.0 } !{ req.fhdr(host) -m reg '${validHost}' }`,
    `http-request set-var(txn.host) '${canonical},map_str(hosts.map)'`,
    String.raw`http-request set-var(txn.host) '${canonical},regsub("^[^.]+\.","*."),map_str(hosts.map)' if ${unknown}`,
    `http-request set-var(txn.host) str(*) if ${unknown}`,
    'http-request set-var(txn.path) path',
    // The target of OPTIONS may be no path, and then begins with no prefix.
    'http-request set-var(txn.path) str(*) if !{ path -m found }',
    // Keys of paths end in `/`, of exact ones in `/#`, so that the longest one is the route (`map-entries.ts`).
    "http-request set-var(txn.route) 'var(txn.host),concat(,txn.path,/#),map_beg(paths.map)'",
    ...fallbackRules(),
  ]
}

/** For a request that no path of its host matches: the default backend of the host, then that of all. */
function fallbackRules(): readonly string[] {
  const missing = 'if !{ var(txn.route) -m found }'
  return [
    `http-request set-var(txn.route) 'var(txn.host),concat(#),map_str(paths.map)' ${missing}`,
    `http-request set-var(txn.route) 'str(*#),map_str(paths.map)' ${missing}`,
    `http-request set-var(txn.route) str(${unroutedProxy}|none|) ${missing}`,
  ]
}

/** Says to the backend who the client is. */
const clientRules = [
  'http-request add-header x-forwarded-for %[var(sess.client)]',
  'http-request add-header x-forwarded-proto %[ssl_fc,iif(https,http)]',
  'http-request add-header x-forwarded-host %[req.fhdr(host)]',
  'http-request add-header x-forwarded-port %fp',
]

/** Headers that say who the client is, in both spellings, and those that are for this hop alone. */
const droppedHeaders = '^(?:forwarded$|x[-_]forwarded[-_]|connection$|keep-alive$|proxy-connection$|http2-settings$)'

/** Replaces what a backend believes of the client, and drops what is meant for this hop alone (RFC 9110 section 7.6.1). */
function headerRules({ tracing }: HaproxySettings): readonly string[] {
  const upgrade = 'req.fhdr(upgrade)'
  return [
    `http-request del-header '${droppedHeaders}' -m reg`,
    ...clientRules,
    // A backend that changed to HTTP/2 would serve requests that no rule has seen.
    `http-request del-header upgrade if { ${upgrade} -m sub -i h2c }`,
    // Other names in Connection would make the next proxy drop the headers above.
    `http-request add-header connection upgrade if { ${upgrade} -m found }`,
    ...traceRules(tracing),
  ]
}

/** A line of the access log carries the span of a traced request, beside the share of requests that get a line anyway. */
function lineRules({ tracing, accessLog }: HaproxySettings): readonly string[] {
  if (tracing === undefined) return []
  return [
    `http-request set-var(txn.line) str(true) if { rand(${shareUnit}) lt ${Math.round(accessLog * shareUnit)} }`,
    'http-request set-log-level silent if !{ var(txn.line) -m found }',
  ]
}

const shareUnit = 1_000_000

/** Gives the request a span of this proxy, in the trace of the client if it has one. */
function spanRules({ ratio, followsParent }: TracedShare, isClientTraced: string): readonly string[] {
  const isTraced = '{ var(txn.traced) -m found }'
  const isChosen = `{ rand(${shareUnit}) lt ${Math.round(ratio * shareUnit)} }`
  const isSampled = '{ req.fhdr(traceparent),field(4,-) -m reg [13579bdf]$ }'
  return [
    `http-request set-var(txn.traced) bool(true) if ${isClientTraced}`,
    'http-request set-var(txn.trace) unique-id',
    `http-request set-var(txn.trace) req.fhdr(traceparent),field(2,-) if ${isTraced}`,
    `http-request set-var(txn.parent) req.fhdr(traceparent),field(3,-) if ${isTraced}`,
    'http-request set-var(txn.span) unique-id,bytes(16)',
    'http-request set-var(txn.sampled) str(00)',
    `http-request set-var(txn.sampled) str(01) if ${followsParent ? `!${isTraced} ` : ''}${isChosen}`,
    ...(followsParent ? [`http-request set-var(txn.sampled) str(01) if ${isTraced} ${isSampled}`] : []),
    'http-request set-header traceparent 00-%[var(txn.trace)]-%[var(txn.span)]-%[var(txn.sampled)]',
    'http-request set-log-level info if { var(txn.sampled) -m str 01 }',
  ]
}

/** Passes the identifier and the trace of a client if they are valid; a trace that is made here has the made identifier. */
function traceRules(tracing: TracedShare | undefined): readonly string[] {
  const isRequestId = `{ req.fhdr(x-request-id) -m reg '${validRequestId}' } { req.fhdr_cnt(x-request-id) eq 1 }`
  const isTraced = `{ req.fhdr(traceparent) -m reg '${validTraceparent}' } { req.fhdr_cnt(traceparent) eq 1 }`
  return [
    `http-request set-header x-request-id %[unique-id] unless ${isRequestId}`,
    `http-request del-header tracestate unless ${isTraced}`,
    ...(tracing === undefined
      ? [`http-request set-header traceparent ${madeTraceparent} unless ${isTraced}`]
      : spanRules(tracing, isTraced)),
  ]
}

/** A trace that begins here; its only span of this proxy needs no identifier that differs from those of other traces. */
const madeTraceparent = '00-%[unique-id]-0000000000000001-00'

/** 32 decimal digits, which are hexadecimal ones too: the seconds, and 18 at random. haproxy makes them several times faster than a UUID. */
const requestIdFormat = `0000%Ts${'%[rand(900000000),add(100000000)]'.repeat(2)}`

/** Texts for the access log, short enough for one write to a pipe (pipe(7), PIPE_BUF). */
function logText(name: string, sample: string, bytes: number): string {
  return `http-request set-var(txn.${name}) ${sample},bytes(0,${bytes}),json(utf8s)`
}

const logHostRule = logText('loghost', 'req.fhdr(host),lower', 255)

function logRules(settings: HaproxySettings): readonly string[] {
  if (!writesLines(settings)) return []
  return [
    'http-request set-var(txn.host) req.fhdr(host),map_str(hosts.map)',
    logHostRule,
    logText('logpath', 'str(*)', 1),
    logText('logpath', 'path', 1024),
    logText('logmethod', 'method', 32),
    logText('logid', 'req.fhdr(x-request-id)', 128),
  ]
}

/**
 * Counts every answer, also those that haproxy makes itself, by `CLASS|INGRESS` and status code. Only the sample `sc_inc_gpc` counts there: rules for
 * answers of haproxy have no such action in 2.6.
 */
function countRules(): readonly string[] {
  const conditions = codeConditions()
  return countedCodes.map(
    (_, index) => `http-after-response allow if ${conditions[index]} { sc_inc_gpc(${index},0) gt 0 }`,
  )
}
