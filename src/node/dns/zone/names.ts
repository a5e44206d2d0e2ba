import { addressBits, type Ip, ipFamily, ipToBigInt } from '../../../model/ip.ts'
import { DnsFormatError } from '../wire/errors.ts'
import { encodeName, isUnder, type WireName } from '../wire/name.ts'

const reverseIpv4 = encodeName('in-addr.arpa')
const reverseIpv6 = encodeName('ip6.arpa')

/** What a name of the zone may have between its dots. */
export function isLabel(text: string): boolean {
  return /^[a-z0-9_]([-a-z0-9_]{0,61}[a-z0-9])?$/.test(text)
}

/** `label` before `parent`. The label's bytes are ASCII. */
export function below(parent: WireName, ...labels: readonly string[]): WireName {
  const length = labels.reduce((sum, label) => sum + label.length + 1, 0)
  const name = Buffer.allocUnsafe(length + parent.length)
  let at = 0
  for (const label of labels) {
    name[at] = label.length
    at += 1 + name.write(label, at + 1, 'latin1')
  }
  parent.copy(name, at)
  return name
}

/** The label of an address: dashes for dots and colons; no label begins or ends with a dash. */
export function dashedAddress(address: Ip): string {
  return address.replace(/[.:]/g, '-').replace(/^-/, '0-').replace(/-$/, '-0')
}

/** The label of a Pod by its address: dashes for dots and colons. */
export function podLabel(address: Ip): string {
  return address.replace(/[.:]/g, '-')
}

/** The name under which an address is asked for backwards (RFC 1035 3.5, RFC 3596 2.5). */
export function reverseName(address: Ip): WireName {
  if (ipFamily(address) === 'IPv4') return below(reverseIpv4, ...address.split('.').reverse())
  const digits = ipToBigInt(address)
    .toString(16)
    .padStart(addressBits('IPv6') / 4, '0')
  return below(reverseIpv6, ...[...digits].reverse())
}

/** Whether a zone is for asking backwards. */
export function isReverse(zone: WireName): boolean {
  return isUnder(zone, reverseIpv4) || isUnder(zone, reverseIpv6)
}

/** The name in wire form, or undefined where the text is none. */
export function readNameText(text: string): WireName | undefined {
  try {
    return encodeName(text)
  } catch (error) {
    if (error instanceof DnsFormatError) return undefined
    throw error
  }
}
