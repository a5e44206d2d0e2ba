import { bigIntToIp, type Ip, ipFamily, ipToBigInt } from '../../../model/ip.ts'
import { writeUint16, writeUint32 } from './bytes.ts'
import { recordClass, recordType } from './codes.ts'
import { DnsFormatError } from './errors.ts'
import type { WireName } from './name.ts'

/** A record apart from its message: name and data in wire form without pointers. */
export interface DnsRecord {
  readonly name: WireName
  readonly type: number
  readonly class: number
  /** Seconds. */
  readonly ttl: number
  readonly data: Buffer
}

export function makeRecord(name: WireName, type: number, ttl: number, data: Buffer): DnsRecord {
  return { name, type, class: recordClass.IN, ttl, data }
}

/** An A or AAAA record, by the family of the address. */
export function addressRecord(name: WireName, ttl: number, address: Ip): DnsRecord {
  const type = ipFamily(address) === 'IPv4' ? recordType.A : recordType.AAAA
  return makeRecord(name, type, ttl, addressData(address))
}

/** 4 or 16 bytes. */
export function addressData(address: Ip): Buffer {
  const data = Buffer.allocUnsafe(ipFamily(address) === 'IPv4' ? 4 : 16)
  writeAddress(data, 0, address)
  return data
}

export function writeAddress(out: Buffer, at: number, address: Ip): void {
  if (ipFamily(address) === 'IPv6') out.write(ipToBigInt(address).toString(16).padStart(32, '0'), at, 'hex')
  else for (const [index, text] of address.split('.').entries()) out[at + index] = Number(text)
}

/** The address in the data of an A or AAAA record. */
export function addressText(data: Uint8Array): Ip {
  const value = BigInt(`0x${Buffer.from(data).toString('hex') || '0'}`)
  return bigIntToIp(value, data.length === 4 ? 'IPv4' : 'IPv6')
}

/** RFC 2782. */
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

/** Strings of at most 255 bytes each. */
export function txtData(strings: readonly Uint8Array[]): Buffer {
  return Buffer.concat(strings.map(characterString))
}

/** A length byte and the bytes (RFC 1035 3.3). */
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
  /** Also the time for which a negative answer holds (RFC 2308). */
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
