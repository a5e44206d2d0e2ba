import type { IngressLimits } from '../driver.ts'
import { type HaproxyPaths, type HaproxySettings, ownConnections, writesLines } from './settings.ts'

/** Script of haproxy that counts the bytes of bodies. */
export const bodyLimitScript = 'body-limit.lua'

const proxy = 'measured'
/** Socket below the root of the workers. */
const socket = 'measured'
/** Names the proxy of the Service on the way through haproxy itself. */
const routeHeader = 'x-platnet-route'
const endpointHeader = 'x-platnet-endpoint'
const isMeasured = '{ var(txn.measured) -m found }'

/**
 * Bodies without a length are limited on a way of their own, because a script that counts bytes would cost every request: the listener sends such a
 * request to `measured`, a listener of the same haproxy, which has the script and sends it to the proxy that the header names.
 */
export function measuredBodyRules({ maxBodyBytes }: IngressLimits): readonly string[] {
  if (maxBodyBytes === 0) return []
  // An HTTP/2 request has `upgrade` only where haproxy put it: a WebSocket (RFC 8441).
  const isTunnel = '{ fc_http_major 2 } { req.fhdr(upgrade) -m found }'
  return [
    'http-request set-var(txn.measured) bool(true) if !{ internal.htx.has_eom } !{ req.fhdr(content-length) -m found }',
    `http-request unset-var(txn.measured) if ${isTunnel}`,
  ]
}

/** Turns the route of such a request, once it is known, into `measured|CLASS|INGRESS|PROXY`. */
export function measuredRouteRules({ maxBodyBytes }: IngressLimits): readonly string[] {
  if (maxBodyBytes === 0) return []
  return [
    `http-request set-header ${routeHeader} %[var(txn.route),field(1,|)] if ${isMeasured} { var(txn.route) -m found }`,
    String.raw`http-request set-var(txn.route) 'var(txn.route),regsub("^([^|]*)\|(.*)","${proxy}|\2|\1")' if ${isMeasured} { var(txn.route) -m found }`,
  ]
}

/** Says to the first listener, which writes the line, which endpoint answered. */
const silentListener = ['http-request set-log-level silent', `http-response set-header ${endpointHeader} %si:%sp`]
const endpointRules = [
  `http-response set-var(txn.endpoint) res.fhdr(${endpointHeader})`,
  `http-response del-header ${endpointHeader}`,
]

/** The sections of this way. */
export function measuredSections(
  settings: HaproxySettings,
  { emptyRoot }: HaproxyPaths,
  user: string,
): readonly { readonly title: string; readonly lines: readonly string[] }[] {
  if (settings.limits.maxBodyBytes === 0) return []
  const listener = [
    `bind unix@${emptyRoot}/${socket} mode 600 user ${user} proto h2`,
    'filter lua.body-limit',
    ...(writesLines(settings) ? silentListener : []),
    `http-request set-var(txn.route) req.fhdr(${routeHeader})`,
    `http-request del-header ${routeHeader}`,
    'use_backend %[var(txn.route)]',
  ]
  const way = [
    // haproxy 2.6 breaks the connection on which it answered 413: other requests on it would fail.
    'http-reuse never',
    ...(writesLines(settings) ? endpointRules : []),
    `server self unix@/${socket} proto h2 maxconn ${ownConnections(settings.limits)}`,
  ]
  return [
    { title: `frontend ${proxy}`, lines: listener },
    { title: `backend ${proxy}`, lines: way },
  ]
}

/**
 * Loads the script once for each thread. Threads that share one Lua state (`lua-load`) corrupt it in haproxy 2.6, whose filters touch the stack of the
 * state outside its lock: requests fail, or the worker aborts. haproxy reads the file for the second thread after it has left `default-path`, so the
 * path is absolute.
 */
export function bodyLimitLines({ maxBodyBytes }: IngressLimits, filesFolder: string): readonly string[] {
  return maxBodyBytes === 0 ? [] : [`lua-load-per-thread ${filesFolder}/${bodyLimitScript}`]
}

/** Bytes as which haproxy counts the end of a body that comes with its last bytes. It counts trailers too. */
const endBytes = 1

/** The script. Bytes pass on as they come; a body that grows beyond the limit is answered 413. */
export function bodyLimitText({ maxBodyBytes }: IngressLimits, answer: string): string {
  return `local BodyLimit = { id = 'body limit', flags = filter.FLT_CFG_FL_HTX }
BodyLimit.__index = BodyLimit

function BodyLimit:new()
  return setmetatable({ bytes = 0 }, BodyLimit)
end

function BodyLimit:start_analyze(txn, channel)
  if not channel:is_resp() then filter.register_data_filter(self, channel) end
end

function BodyLimit:http_payload(txn, message)
  local bytes = message:input()
  self.bytes = self.bytes + bytes
  if self.bytes > ${maxBodyBytes + endBytes} then
    txn:done(txn:reply{ status = 413, reason = 'Content Too Large', headers = { ['content-type'] = { 'text/plain' } }, body = '${answer}\\n' })
  end
  return bytes
end

core.register_filter('body-limit', BodyLimit, function(made) return made end)
`
}
