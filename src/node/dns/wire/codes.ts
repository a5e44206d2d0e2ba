/** The numbers of the DNS by their names (IANA "Domain Name System Parameters"). */
export const recordType = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  HINFO: 13,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  NAPTR: 35,
  DNAME: 39,
  OPT: 41,
  DS: 43,
  SSHFP: 44,
  RRSIG: 46,
  NSEC: 47,
  DNSKEY: 48,
  NSEC3: 50,
  TLSA: 52,
  SVCB: 64,
  HTTPS: 65,
  SPF: 99,
  IXFR: 251,
  AXFR: 252,
  ANY: 255,
  CAA: 257,
} as const

export const recordClass = { IN: 1, CH: 3, HS: 4, NONE: 254, ANY: 255 } as const

export const rcode = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  YXDOMAIN: 6,
  YXRRSET: 7,
  NXRRSET: 8,
  NOTAUTH: 9,
  NOTZONE: 10,
  BADVERS: 16,
} as const

/** The bits of the header's third and fourth byte (RFC 1035 4.1.1, RFC 4035 3.1.6). */
export const flag = { QR: 0x8000, AA: 0x0400, TC: 0x0200, RD: 0x0100, RA: 0x0080, AD: 0x0020, CD: 0x0010 } as const

/** The EDNS options (RFC 6891 and the documents that define each). */
export const ednsOption = { NSID: 3, EXPIRE: 9, COOKIE: 10, TCP_KEEPALIVE: 11, PADDING: 12, EDE: 15 } as const

const typeNames = new Map<number, string>(Object.entries(recordType).map(([name, code]) => [code, name]))
const typeCodes = new Map<string, number>(Object.entries(recordType))
const rcodeNames = new Map<number, string>(Object.entries(rcode).map(([name, code]) => [code, name]))
const rcodeCodes = new Map<string, number>(Object.entries(rcode))
const classNames = new Map<number, string>(Object.entries(recordClass).map(([name, code]) => [code, name]))
const classCodes = new Map<string, number>(Object.entries(recordClass))

/** Returns `AAAA`, or `TYPE1234` for a type that has no name here (RFC 3597). */
export function typeName(code: number): string {
  return typeNames.get(code) ?? `TYPE${code}`
}

/** Returns the number of a type given as `AAAA` or `TYPE28`, in upper or lower case. */
export function typeCode(text: string): number | undefined {
  return typeCodes.get(text.toUpperCase()) ?? genericCode(text, 'TYPE')
}

export function rcodeName(code: number): string {
  return rcodeNames.get(code) ?? `RCODE${code}`
}

export function rcodeCode(text: string): number | undefined {
  return rcodeCodes.get(text.toUpperCase())
}

export function className(code: number): string {
  return classNames.get(code) ?? `CLASS${code}`
}

export function classCode(text: string): number | undefined {
  return classCodes.get(text.toUpperCase()) ?? genericCode(text, 'CLASS')
}

function genericCode(text: string, prefix: string): number | undefined {
  const digits = text.toUpperCase().startsWith(prefix) ? text.slice(prefix.length) : ''
  return /^\d{1,5}$/.test(digits) && Number(digits) <= 0xffff ? Number(digits) : undefined
}
