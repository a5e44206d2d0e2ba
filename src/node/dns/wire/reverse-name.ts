import { addressBits, type Ip, ipFamily, ipToBigInt } from '../../../model/ip.ts'
import { below, encodeName, isUnder, type WireName } from './name.ts'

const reverseIpv4 = encodeName('in-addr.arpa')
const reverseIpv6 = encodeName('ip6.arpa')

/** Returns the name under which the PTR records of an address stand (RFC 1035 3.5, RFC 3596 2.5). */
export function reverseName(address: Ip): WireName {
  if (ipFamily(address) === 'IPv4') return below(reverseIpv4, ...address.split('.').reverse())
  const digits = ipToBigInt(address)
    .toString(16)
    .padStart(addressBits('IPv6') / 4, '0')
  return below(reverseIpv6, ...[...digits].reverse())
}

/** Returns whether a zone holds reverse names. */
export function isReverse(zone: WireName): boolean {
  return isUnder(zone, reverseIpv4) || isUnder(zone, reverseIpv6)
}
