import { bigIntToIp, type Ip, ipFamily, ipToBigInt } from '../../../model/ip.ts'
import { writeUint16, writeUint32 } from './bytes.ts'
import { recordClass, recordType } from './codes.ts'
import { DnsFormatError } from './errors.ts'
import type { WireName } from './name.ts'

/** A decoded record: name and data in wire form without pointers. */
export interface DnsRecord {
  readonly name: WireName
  readonly type: number
  readonly class: number
  /** The TTL in seconds. */
  readonly ttl: number
  readonly data: Buffer
}

export function makeRecord(name: WireName, type: number, ttl: number, data: Buffer): DnsRecord {
  return { name, type, class: recordClass.IN, ttl, data }
}

/** Makes an A or AAAA record, by the family of the address. */
export function addressRecord(name: WireName, ttl: number, address: Ip): DnsRecord {
  const type = ipFamily(address) === 'IPv4' ? recordType.A : recordType.AAAA
  return makeRecord(name, type, ttl, addressData(address))
}

/** Returns the 4 or 16 bytes of an address. */
export function addressData(address: Ip): Buffer {
  const data = Buffer.allocUnsafe(ipFamily(address) === 'IPv4' ? 4 : 16)
  writeAddress(data, 0, address)
  return data
}

export function writeAddress(out: Buffer, at: number, address: Ip): void {
  if (ipFamily(address) === 'IPv6') out.write(ipToBigInt(address).toString(16).padStart(32, '0'), at, 'hex')
  else for (const [index, text] of address.split('.').entries()) out[at + index] = Number(text)
}

/** Returns the address in the data of an A or AAAA record. */
export function addressText(data: Uint8Array): Ip {
  const value = BigInt(`0x${Buffer.from(data).toString('hex') || '0'}`)
  return bigIntToIp(value, data.length === 4 ? 'IPv4' : 'IPv6')
}

/** Returns the data of an SRV record (RFC 2782). */
export function srvData(priority: number, weight: number, port: number, target: WireName): Buffer {
  const data = Buffer.allocUnsafe(6 + target.length)
  writeUint16(data, 0, priority)
  writeUint16(data, 2, weight)
  writeUint16(data, 4, port)
  target.copy(data, 6)
  return data
}

export function mxData(preference: number, exchange: WireName): Buffer {
  return Buffer.concat([uint16(preference), exchange])
}

/** Returns the data of a TXT record from strings of at most 255 bytes each. */
export function txtData(strings: readonly Uint8Array[]): Buffer {
  return Buffer.concat(strings.map(characterString))
}

/** Returns a length byte and the bytes (RFC 1035 3.3). */
export function characterString(bytes: Uint8Array): Buffer {
  if (bytes.length > 255) throw new DnsFormatError('rdata', `a string of ${bytes.length} bytes, of 255 at most`)
  return Buffer.concat([Buffer.of(bytes.length), bytes])
}

export interface SoaFields {
  readonly primary: WireName
  readonly mailbox: WireName
  readonly serial: number
  readonly refresh: number
  readonly retry: number
  readonly expire: number
  /** The minimum, which is also the time for which a negative answer is valid (RFC 2308). */
  readonly minimum: number
}

export function soaData(soa: SoaFields): Buffer {
  const numbers = Buffer.allocUnsafe(20)
  for (const [index, value] of [soa.serial, soa.refresh, soa.retry, soa.expire, soa.minimum].entries()) {
    writeUint32(numbers, index * 4, value)
  }
  return Buffer.concat([soa.primary, soa.mailbox, numbers])
}

function uint16(value: number): Buffer {
  const data = Buffer.allocUnsafe(2)
  writeUint16(data, 0, value)
  return data
}
