import { recordType, typeName } from './codes.ts'
import { nameText, skipName } from './name.ts'
import { addressText, type DnsRecord } from './record.ts'

/** Types whose data is one name. */
const aliasTypes = new Set<number>([recordType.CNAME, recordType.PTR, recordType.NS, recordType.DNAME])

/** Renders a record as a line of a zone file (RFC 1035 5.1); data without a form of its own as RFC 3597 5. */
export function recordLine({ name, type, ttl, data }: DnsRecord): string {
  return `${nameText(name)} ${ttl} IN ${typeName(type)} ${renderData(type, data)}`
}

function renderData(type: number, data: Buffer): string {
  if (type === recordType.A || type === recordType.AAAA) return addressText(data)
  if (aliasTypes.has(type)) return nameText(data)
  if (type === recordType.MX) return `${data.readUInt16BE(0)} ${nameText(data, 2)}`
  if (type === recordType.SRV) return `${[0, 2, 4].map((at) => data.readUInt16BE(at)).join(' ')} ${nameText(data, 6)}`
  if (type === recordType.TXT) return characterStrings(data).map(quote).join(' ')
  if (type === recordType.SOA) return renderSoa(data)
  return `\\# ${data.length} ${data.toString('hex')}`
}

function renderSoa(data: Buffer): string {
  const responsible = skipName(data, 0, data.length)
  const numbers = skipName(data, responsible, data.length)
  const fields = [0, 4, 8, 12, 16].map((at) => data.readUInt32BE(numbers + at))
  return [nameText(data), nameText(data, responsible), ...fields].join(' ')
}

function characterStrings(data: Buffer): readonly Buffer[] {
  const strings: Buffer[] = []
  for (let at = 0; at < data.length; at += 1 + (data[at] ?? 0))
    strings.push(data.subarray(at + 1, at + 1 + (data[at] ?? 0)))
  return strings
}

function quote(bytes: Buffer): string {
  const text = bytes.toString('latin1').replace(/["\\]/g, '\\$&')
  return `"${text.replace(/[^ -~]/g, (character) => `\\${String(character.charCodeAt(0)).padStart(3, '0')}`)}"`
}
