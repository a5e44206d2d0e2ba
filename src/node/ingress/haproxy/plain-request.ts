/**
 * Beginnings of header lines that some rule treats: framing and length of a body, hop headers that are not the usual ones, what a client says of itself,
 * identifiers and traces, a host that is not written as in an Ingress.
 */
const treatedLines = [
  'host: [a-z0-9._-]*[^a-z0-9._\\r-]',
  'transfer-encoding:',
  'content-length:',
  'connection: (?!(?:keep-alive|close)\\r)',
  'keep-alive:',
  'proxy-connection:',
  'http2-settings:',
  'upgrade:',
  'forwarded:',
  'x[-_]forwarded[-_]',
  'x-request-id:',
  'trace(?:parent|state):',
]

const isTreated = `{ req.hdrs -m reg '(?m)^(?:${treatedLines.join('|')})|\\x00' }`

/**
 * The condition that no rule has anything to refuse, drop or replace in a request: its target is a path (not so for CONNECT), it has no body, and one
 * look at its headers finds none that is treated. HTTP/2 has bodies without any header that says so. `stopping` is for `handover.ts`.
 */
export const isPlain = ['{ url_beg / }', '{ fc_http_major 2 } { path -m found }']
  .map((target) => `${target} { internal.htx.has_eom } !{ stopping } !${isTreated}`)
  .join(' or ')
