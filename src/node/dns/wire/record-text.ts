import { parseIp } from '../../../model/ip.ts'
import { classCode, recordClass, recordType, typeCode, typeName } from './codes.ts'
import { DnsFormatError } from './errors.ts'
import { encodeName, readCharacter } from './name.ts'
import { addressData, characterString, type DnsRecord, mxData, soaData, srvData, txtData } from './record.ts'

const maxTtl = 0x7fff_ffff
const nameTypes: ReadonlySet<number> = new Set([recordType.CNAME, recordType.NS, recordType.PTR, recordType.DNAME])

/**
 * Parses a record in the form of a zone file, on one line: `NAME [TTL] [CLASS] TYPE DATA`. Types without a form here take `\# LENGTH HEX` (RFC
 * 3597). Throws DnsFormatError.
 */
export function parseRecordText(text: string, defaultTtl: number): DnsRecord {
  const words = splitWords(text)
  const [name, ...rest] = words
  if (name === undefined) throw bad(text, 'a name')
  const ttl = /^\d+$/.test(rest[0] ?? '') ? Number(rest.shift()) : defaultTtl
  const classOf = rest[0] === undefined || typeCode(rest[0]) !== undefined ? undefined : classCode(rest[0])
  if (classOf !== undefined) rest.shift()
  const type = typeCode(rest.shift() ?? '')
  if (type === undefined) throw bad(text, 'a type')
  if (ttl > maxTtl) throw bad(text, 'a TTL of 31 bits')
  return { name: encodeName(name), type, class: classOf ?? recordClass.IN, ttl, data: parseData(type, rest, text) }
}

/** Splits at blanks and at parentheses, which only group lines. Quotes group words and are kept, so that `""` differs from no word. */
function splitWords(text: string): string[] {
  return text.match(/"(?:[^"\\]|\\.)*"|(?:[^\s"()\\]|\\.)+/g) ?? []
}

function parseData(type: number, words: readonly string[], text: string): Buffer {
  if (words[0] === '\\#') return parseGeneric(words, text)
  if (nameTypes.has(type)) return encodeName(only(words, text))
  switch (type) {
    case recordType.A:
    case recordType.AAAA:
      return parseAddress(type, only(words, text), text)
    case recordType.MX:
      return mxData(number(words[0], text), encodeName(words[1] ?? ''))
    case recordType.SRV:
      return srvData(number(words[0], text), number(words[1], text), number(words[2], text), encodeName(words[3] ?? ''))
    case recordType.TXT:
    case recordType.SPF:
      if (words.length === 0) throw bad(text, 'a string')
      return txtData(words.map(parseString))
    case recordType.HINFO:
      return Buffer.concat([parseString(words[0] ?? ''), parseString(words[1] ?? '')].map(characterString))
    case recordType.SOA:
      return parseSoa(words, text)
    case recordType.CAA:
      return Buffer.concat([
        Buffer.of(number(words[0], text, 255)),
        characterString(parseString(words[1] ?? '')),
        parseString(words[2] ?? ''),
      ])
    default:
      throw bad(text, `the data of ${typeName(type)} as \\# LENGTH HEX`)
  }
}

function parseAddress(type: number, word: string, text: string): Buffer {
  const address = parseIp(word)
  const data = address === undefined ? undefined : addressData(address)
  const isMapped = data?.length === 4 && word.includes(':')
  const whole = isMapped ? Buffer.concat([mappedPrefix, data]) : data
  if (whole?.length !== (type === recordType.A ? 4 : 16)) throw bad(text, `an address for ${typeName(type)}`)
  return whole
}

/** The prefix of an IPv4-mapped address (RFC 4291 2.5.5.2). An AAAA record may hold one; everywhere else it is the IPv4 address. */
const mappedPrefix = Buffer.from('00000000000000000000ffff', 'hex')

function parseSoa(words: readonly string[], text: string): Buffer {
  const [serial, refresh, retry, expire, minimum] = words.slice(2).map((word) => number(word, text, 0xffff_ffff))
  if (words.length !== 7 || minimum === undefined) throw bad(text, 'two names and five numbers')
  return soaData({
    primary: encodeName(words[0] ?? ''),
    mailbox: encodeName(words[1] ?? ''),
    serial: serial ?? 0,
    refresh: refresh ?? 0,
    retry: retry ?? 0,
    expire: expire ?? 0,
    minimum,
  })
}

function parseGeneric(words: readonly string[], text: string): Buffer {
  const hex = words.slice(2).join('')
  if (!/^([0-9a-f]{2})*$/i.test(hex) || hex.length !== 2 * number(words[1], text)) throw bad(text, 'LENGTH HEX')
  return Buffer.from(hex, 'hex')
}

function parseString(word: string): Buffer {
  const inner = word.startsWith('"') ? word.slice(1, -1) : word
  const bytes: number[] = []
  for (let at = 0; at < inner.length; ) {
    const { byte, length } = readCharacter(inner, at)
    bytes.push(byte)
    at += length
  }
  return Buffer.from(bytes)
}

function only(words: readonly string[], text: string): string {
  const [word] = words
  if (word === undefined || words.length > 1) throw bad(text, 'one word of data')
  return word
}

function number(word: string | undefined, text: string, max = 0xffff): number {
  if (word === undefined || !/^\d{1,10}$/.test(word) || Number(word) > max) throw bad(text, `a number up to ${max}`)
  return Number(word)
}

function bad(text: string, expected: string): DnsFormatError {
  return new DnsFormatError('text', `${text}: expected ${expected}`)
}
