import { z } from 'zod'
import { parseGoDuration } from '../model/go-duration.ts'
import { type Cidr, type Ip, ipFamily, parseCidr, parseIp } from '../model/ip.ts'

/** A range of ports, both ends included. */
export interface PortRange {
  readonly first: number
  readonly last: number
}

/** Where a listener accepts connections. */
export interface ListenAddress {
  readonly ip: Ip
  readonly port: number
}

/** The shapes of option values. Each takes the text of a flag or variable as well as what YAML makes of the same text. */

export const ipAddress = textCodec('an IP address such as 192.0.2.1', parseIp, (ip: Ip) => ip)

/** One network, or one of each family. */
export const dualStackCidrs = listCodec('a network such as 10.0.0.0/8, or one of each family', (items) =>
  oneOfEachFamily(items, parseCidr),
)

/** One address, or one of each family. */
export const dualStackAddresses = listCodec('an IP address such as 192.0.2.1, or one of each family', (items) =>
  oneOfEachFamily(items, parseIp),
)

export const portNumber = z.codec(textOrNumber('a port from 1 to 65535'), z.number(), {
  decode: (input, context) => parsePort(String(input)) ?? refuse(context, 'a port from 1 to 65535'),
  encode: (port) => port,
})

/** Whole seconds, at most an hour. */
export const seconds = z.codec(textOrNumber('whole seconds from 0 to 3600'), z.number(), {
  decode: (input, context) => parseSeconds(String(input)) ?? refuse(context, 'whole seconds from 0 to 3600'),
  encode: (value) => value,
})

function parseSeconds(text: string): number | undefined {
  return /^\d{1,4}$/.test(text) && Number(text) <= 3600 ? Number(text) : undefined
}

/** Bytes as a whole number, or with Ki or Mi behind it. */
export function byteSize(minBytes: number, maxBytes: number) {
  const expected = `a number of bytes from ${minBytes} to ${maxBytes}, such as ${maxBytes} or ${Math.floor(maxBytes / 1024)}Ki`
  return z.codec(textOrNumber(expected), z.number(), {
    decode: (input, context) => {
      const bytes = parseBytes(String(input).trim())
      return bytes >= minBytes && bytes <= maxBytes ? bytes : refuse(context, expected)
    },
    encode: (bytes) => bytes,
  })
}

/** Parses a size in bytes; NaN if the text is not a size. */
function parseBytes(text: string): number {
  const [, number, unit = ''] = /^(\d{1,12})(Ki|Mi)?$/.exec(text) ?? []
  return Number(number) * (unit === 'Mi' ? 1024 * 1024 : unit === 'Ki' ? 1024 : 1)
}

export function wholeNumber(min: number, max: number) {
  const expected = `a whole number from ${min} to ${max}`
  return z.codec(textOrNumber(expected), z.number(), {
    decode: (input, context) => {
      const number = /^\d{1,9}$/.test(String(input).trim()) ? Number(input) : Number.NaN
      return number >= min && number <= max ? number : refuse(context, expected)
    },
    encode: (number) => number,
  })
}

/** Addresses with ports, such as `0.0.0.0:80,[::]:80`, or the one word `none`. */
export const listenAddresses = z.codec(
  z.union([z.string(), z.array(z.string())], { error: `expected ${listenForm()}` }),
  z.custom<readonly ListenAddress[]>(),
  {
    decode: (value, context) => parseListenAddresses(splitList(value)) ?? refuse(context, listenForm()),
    encode: (addresses) => (addresses.length === 0 ? 'none' : addresses.map(formatListenAddress)),
  },
)

export const portRange = textCodec('a range of ports such as 30000-32767', parsePortRange, printPortRange)

export const flagValue = z.codec(
  z.union([z.boolean(), z.literal(['true', 'false'])], { error: 'expected true or false' }),
  z.boolean(),
  {
    decode: (input) => input === true || input === 'true',
    encode: (value) => value,
  },
)

/** A DNS name in lower case (RFC 1123 subdomain), which Kubernetes requires of object names. */
export const dnsName = z
  .string('expected a DNS name')
  .regex(/^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/, {
    error: 'expected a DNS name in lower case such as node-1.example',
  })

/** The name of a network interface, or a prefix of one, which the kernel and iptables accept. */
export const linkName = z
  .string('expected the name of an interface')
  .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,13}$/, { error: 'expected the name of an interface, at most 14 characters' })

/** Networks of either family, or the one word `primary`. */
export const nodePortAddressList = listCodec<Cidr | 'primary'>('networks such as 192.0.2.0/24, or primary', (items) => {
  if (items.length === 1 && items[0] === 'primary') return ['primary']
  const cidrs = items.map(parseCidr).filter((cidr) => cidr !== undefined)
  return cidrs.length > 0 && cidrs.length === items.length ? cidrs : undefined
})

export const filePath = z.string('expected a path').regex(/^[^\0]+$/, { error: 'expected a path' })

/** Text that YAML may have read as a number. */
export const plainText = z.codec(textOrNumber('a text'), z.string(), { decode: String, encode: (text) => text })

/** Milliseconds, written as `40s`, `1m30s` or `500ms`; more than nothing. */
export const duration = textCodec('a duration such as 40s or 1h30m', parseDuration, printDuration)

/** A duration like `duration`, or 0 for none. */
export const durationOrNone = textCodec(
  'a duration such as 40s or 1h30m, or 0',
  (text) => (/^0s?$/.test(text) ? 0 : parseDuration(text)),
  (ms: number) => (ms === 0 ? '0' : printDuration(ms)),
)

/** One or more folders, in the order in which they count. */
export const filePathList = listCodec('a list of paths', (items) => (items.length > 0 ? items : undefined))

export const httpUrl = textCodec('an http or https URL without credentials', parseHttpUrl, (url: string) => url)

/** At least one URL, as a YAML list or with commas. */
export const httpUrlList = listCodec('a list of http or https URLs without credentials', (items) => {
  const urls = items.map(parseHttpUrl).filter((url) => url !== undefined)
  return urls.length > 0 && urls.length === items.length ? [...new Set(urls)] : undefined
})

/** A list of at least one of the given words, as a YAML list or with commas, in their order. */
export function wordList(words: readonly string[]) {
  const expected = `a list of: ${words.join(', ')}`
  return listCodec(expected, (items) => {
    const isKnown = items.length > 0 && items.every((item) => words.includes(item))
    return isKnown ? [...new Set(items)] : undefined
  })
}

function textCodec<T>(expected: string, parse: (text: string) => T | undefined, print: (value: T) => string) {
  return z.codec(z.string(`expected ${expected}`), z.custom<T>(), {
    decode: (text, context) => parse(text.trim()) ?? refuse(context, expected),
    encode: print,
  })
}

function listCodec<T extends string>(expected: string, parse: (items: readonly string[]) => readonly T[] | undefined) {
  const input = z.union([z.string(), z.array(z.string())], { error: `expected ${expected}` })
  return z.codec(input, z.custom<readonly T[]>(), {
    decode: (value, context) => parse(splitList(value)) ?? refuse(context, expected),
    encode: (items) => [...items],
  })
}

function textOrNumber(expected: string) {
  return z.union([z.string(), z.number()], { error: `expected ${expected}` })
}

function refuse(context: z.core.ParsePayload, expected: string): never {
  context.issues.push({ code: 'custom', input: context.value, message: `expected ${expected}` })
  return z.NEVER
}

function splitList(value: string | readonly string[]): string[] {
  const items = typeof value === 'string' ? value.split(',') : value
  return items.map((item) => item.trim()).filter((item) => item !== '')
}

function oneOfEachFamily<T extends Ip | Cidr>(
  items: readonly string[],
  parse: (text: string) => T | undefined,
): readonly T[] | undefined {
  const values = items.map(parse).filter((value) => value !== undefined)
  const families = new Set(values.map(ipFamily))
  return values.length > 0 && values.length === items.length && families.size === values.length ? values : undefined
}

function listenForm(): string {
  return 'addresses with ports such as 192.0.2.1:80,[2001:db8::1]:80, or none'
}

/** `0.0.0.0:80`, `[::]:80`. */
export function formatListenAddress({ ip, port }: ListenAddress): string {
  return ipFamily(ip) === 'IPv6' ? `[${ip}]:${port}` : `${ip}:${port}`
}

function parseListenAddresses(items: readonly string[]): readonly ListenAddress[] | undefined {
  if (items.length === 1 && items[0] === 'none') return []
  const addresses = items.map(parseListenAddress).filter((address) => address !== undefined)
  return addresses.length > 0 && addresses.length === items.length ? addresses : undefined
}

function parseListenAddress(text: string): ListenAddress | undefined {
  const [, bracketed, plain, digits = ''] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? []
  const ip = parseIp(bracketed ?? plain ?? '')
  const port = parsePort(digits)
  const hasForm = ip !== undefined && (ipFamily(ip) === 'IPv6') === (bracketed !== undefined)
  return hasForm && port !== undefined ? { ip, port } : undefined
}

function parsePort(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text.trim()) ? Number(text) : 0
  return port >= 1 && port <= 65535 ? port : undefined
}

function parsePortRange(text: string): PortRange | undefined {
  const [first, last, ...more] = text.split('-').map(parsePort)
  return first !== undefined && last !== undefined && first <= last && more.length === 0 ? { first, last } : undefined
}

function printPortRange({ first, last }: PortRange): string {
  return `${first}-${last}`
}

function parseHttpUrl(text: string): string | undefined {
  const url = URL.parse(text)
  const isUsable = url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  return isUsable ? url.href.replace(/\/$/, '') : undefined
}

const msPerUnit = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 } as const

const durationText = /^(?:\d{1,5}h)?(?:\d{1,6}m(?!s))?(?:\d{1,8}s)?(?:\d{1,9}ms)?$/

/** Whole numbers of hours, minutes, seconds, milliseconds in this order; at most a year. */
function parseDuration(text: string): number | undefined {
  const ms = durationText.test(text) ? parseGoDuration(text) : 0
  return typeof ms === 'number' && ms > 0 && ms <= 366 * 24 * msPerUnit.h ? ms : undefined
}

function printDuration(ms: number): string {
  let rest = ms
  const parts = Object.entries(msPerUnit).map(([unit, size]) => {
    const count = Math.floor(rest / size)
    rest -= count * size
    return count === 0 ? '' : `${count}${unit}`
  })
  return parts.join('')
}
