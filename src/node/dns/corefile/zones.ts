import { dnsPort } from '../../../model/dns-ports.ts'
import { addressBits, bigIntToIp, cidrRange, type Ip, parseCidr, parseIp } from '../../../model/ip.ts'
import { DnsFormatError } from '../wire/errors.ts'
import { encodeName, foldName, nameText, type WireName } from '../wire/name.ts'
import { reverseName } from '../wire/reverse-name.ts'
import { CorefileError } from './errors.ts'
import type { Fallthrough } from './fallthrough.ts'
import type { Token } from './lexer.ts'

const otherSchemes = ['tls', 'grpc', 'https', 'https3', 'quic']

/** A zone that a server block serves, on one port. */
export interface ServerKey {
  readonly zone: WireName
  readonly port: number
}

/** Where `health`, `ready` or `prometheus` listens; the addresses of the cluster's DNS where `address` is undefined. */
export interface EndpointAddress {
  readonly address?: string
  readonly port: number
}

/** Reads `[dns://]ZONE[:PORT]`. A network stands for its reverse zones. */
export function readServerKeys(token: Token): readonly ServerKey[] {
  const scheme = /^([a-z0-9]+):\/\//i.exec(token.text)?.[1]?.toLowerCase()
  if (scheme !== undefined && scheme !== 'dns') {
    const known = otherSchemes.includes(scheme) ? 'queries are served over UDP and TCP only' : 'there is no such scheme'
    throw new CorefileError('bad-value', token, `${token.text}: ${known}`)
  }
  const rest = scheme === undefined ? token.text : token.text.slice(scheme.length + 3)
  const [, zone = '', port] = /^(.*?)(?::(\d+))?$/s.exec(rest) ?? []
  const number = port === undefined ? dnsPort : Number(port)
  if (number < 1 || number > 65_535) throw new CorefileError('bad-value', token, `${token.text}: no such port`)
  return expandZone({ ...token, text: zone === '' ? '.' : zone }).map((name) => ({ zone: name, port: number }))
}

/** Returns a zone by its name, or the reverse zones of a network (`10.0.0.0/24`). */
function expandZone(token: Token): readonly WireName[] {
  if (!token.text.includes('/')) return [readZone(token)]
  const cidr = parseCidr(token.text)
  if (cidr === undefined) throw new CorefileError('bad-value', token, `${token.text}: expected a zone or a network`)
  const { family, first } = cidrRange(cidr)
  const step = family === 'IPv4' ? 8 : 4
  const prefix = Number(cidr.slice(cidr.indexOf('/') + 1))
  const whole = Math.ceil(prefix / step)
  const count = 2 ** (whole * step - prefix)
  const size = 1n << BigInt(addressBits(family) - whole * step)
  const skipped = addressBits(family) / step - whole
  return Array.from({ length: count }, (_, index) =>
    withoutLabels(reverseName(bigIntToIp(first + BigInt(index) * size, family)), skipped),
  )
}

function withoutLabels(name: WireName, count: number): WireName {
  let at = 0
  for (let label = 0; label < count; label++) at += (name[at] ?? 0) + 1
  return name.subarray(at)
}

export function readZone(token: Token): WireName {
  try {
    return foldName(encodeName(token.text))
  } catch (cause) {
    if (!(cause instanceof DnsFormatError)) throw cause
    throw new CorefileError('bad-value', token, `${token.text}: expected a domain name`, { cause })
  }
}

/** Reads a zone, or a network as its reverse zones. A port or scheme has no meaning here. */
export function readZones(token: Token): readonly WireName[] {
  return readServerKeys(token).map(({ zone }) => zone)
}

/** Returns the zones that a plugin names, or those of its server block where it names none. */
export function zonesOr(tokens: readonly Token[], keys: readonly ServerKey[]): readonly WireName[] {
  const zones = tokens.length === 0 ? keys.map(({ zone }) => zone) : tokens.flatMap(readZones)
  return [...new Map(zones.map((zone) => [nameText(zone), zone])).values()]
}

export function readFallthrough(tokens: readonly Token[]): Fallthrough {
  return tokens.length === 0 ? 'all' : tokens.flatMap(readZones)
}

/** Reads `ADDRESS:PORT`, `:PORT` or `ADDRESS`. */
export function readEndpointAddress(token: Token | undefined, port: number): EndpointAddress {
  if (token === undefined) return { port }
  const { text } = token
  if (parseIp(text) !== undefined) return { address: text, port }
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? []
  const host = bracketed ?? plain ?? ''
  const address = host === 'localhost' ? '127.0.0.1' : host
  if (digits === undefined || Number(digits) > 65_535 || (address !== '' && parseIp(address) === undefined)) {
    throw new CorefileError('bad-value', token, `${text}: expected ADDRESS:PORT`)
  }
  return { ...(address !== '' && { address: parseIp(address) as Ip }), port: Number(digits) }
}
