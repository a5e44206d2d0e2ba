import { isIPv4, isIPv6 } from 'node:net'
import { isDnsSubdomain } from '../../model/selector.ts'

const uuid = (version: string) =>
  new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$`, 'i')

function matching(pattern: RegExp): (text: string) => boolean {
  return (text) => pattern.test(text)
}

/** The check of each text format; all patterns here are linear. Numbers have ranges instead. */
const textFormats = new Map<string, (text: string) => boolean>([
  ['date-time', isDateTime],
  ['datetime', isDateTime],
  ['date', isDate],
  [
    'duration',
    matching(/^-?(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+$|^\d+ ?(?:days?|weeks?|hours?|minutes?|seconds?)$|^0$/),
  ],
  ['byte', matching(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/)],
  ['password', () => true],
  ['uri', (text) => URL.canParse(text) || /^\/\S*$/.test(text)],
  ['email', matching(/^[^\s@<>]+@[^\s@<>]+$/)],
  ['hostname', (text) => isDnsSubdomain(text.toLowerCase())],
  ['ipv4', isIPv4],
  ['ipv6', isIPv6],
  ['cidr', isCidr],
  ['mac', matching(/^[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}$/i)],
  ['uuid', matching(uuid('[0-9a-f]'))],
  ['uuid3', matching(uuid('3'))],
  ['uuid4', matching(uuid('4'))],
  ['uuid5', matching(uuid('5'))],
  ['bsonobjectid', matching(/^[0-9a-f]{24}$/i)],
  ['isbn', (text) => isIsbn10(text) || isIsbn13(text)],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  ['creditcard', isCreditCard],
  ['ssn', matching(/^\d{3}[- ]?\d{2}[- ]?\d{4}$/)],
  ['hexcolor', matching(/^#?(?:[0-9a-f]{3}|[0-9a-f]{6})$/i)],
  ['rgbcolor', isRgbColor],
  ['k8s-short-name', matching(/^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/)],
  ['k8s-long-name', (text) => text.length <= 253 && isDnsSubdomain(text)],
])

const numberRanges = new Map<string, readonly [number, number]>([
  ['int32', [-(2 ** 31), 2 ** 31 - 1]],
  ['int64', [-(2 ** 63), 2 ** 63]],
  ['float', [-3.4028234663852886e38, 3.4028234663852886e38]],
  ['double', [-Number.MAX_VALUE, Number.MAX_VALUE]],
])

/** Checks whether a format is known. An unknown one is never an error, only a warning when a definition names it. */
export function isKnownFormat(format: string): boolean {
  return textFormats.has(format) || numberRanges.has(format)
}

export function hasTextFormat(format: string, text: string): boolean {
  return textFormats.get(format)?.(text) ?? true
}

export function isInNumberRange(format: string, value: number): boolean {
  const range = numberRanges.get(format)
  return range === undefined || (value >= range[0] && value <= range[1])
}

/** Checks a date-time of RFC 3339. */
function isDateTime(text: string): boolean {
  const match = /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/.exec(text)
  if (match === null) return false
  const [, day = '', hours, minutes, seconds] = match
  return isDate(day) && Number(hours) < 24 && Number(minutes) < 60 && Number(seconds) <= 60
}

function isDate(text: string): boolean {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text)
  if (match === null) return false
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])]
  const date = new Date(Date.UTC(year, month - 1, day))
  return month >= 1 && date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}

function isCidr(text: string): boolean {
  const match = /^([^/]+)\/(\d{1,3})$/.exec(text)
  if (match === null) return false
  const [, address = '', length] = match
  return (isIPv4(address) && Number(length) <= 32) || (isIPv6(address) && Number(length) <= 128)
}

function isIsbn10(text: string): boolean {
  const digits = text.replaceAll(/[\s-]/g, '')
  if (!/^\d{9}[\dX]$/.test(digits)) return false
  const sum = [...digits].reduce(
    (total, digit, index) => total + (10 - index) * (digit === 'X' ? 10 : Number(digit)),
    0,
  )
  return sum % 11 === 0
}

function isIsbn13(text: string): boolean {
  const digits = text.replaceAll(/[\s-]/g, '')
  if (!/^\d{13}$/.test(digits)) return false
  return [...digits].reduce((total, digit, index) => total + (index % 2 === 0 ? 1 : 3) * Number(digit), 0) % 10 === 0
}

/** Checks the Luhn check digit. */
function isCreditCard(text: string): boolean {
  const digits = text.replaceAll(/[\s-]/g, '')
  if (!/^\d{13,19}$/.test(digits)) return false
  const doubled = (digit: number) => (digit > 4 ? digit * 2 - 9 : digit * 2)
  const sum = [...digits].toReversed().reduce((total, digit, index) => {
    return total + (index % 2 === 0 ? Number(digit) : doubled(Number(digit)))
  }, 0)
  return sum % 10 === 0
}

function isRgbColor(text: string): boolean {
  const match = /^rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/.exec(text)
  return match?.slice(1).every((part) => Number(part) <= 255) ?? false
}
