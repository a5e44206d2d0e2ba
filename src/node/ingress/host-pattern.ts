import { isReadAsIp } from '../../model/ip.ts'
import type { HostPattern } from '../../model/routing-table.ts'

const pattern = /^(?=.{1,253}$)(\*\.)?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$/

/** Reads a host of an Ingress or a name of a certificate: a DNS name, in which the first label may be `*`; undefined for anything else. */
export function parseHostPattern(text: string): HostPattern | undefined {
  const host = text.toLowerCase()
  return pattern.test(host) && !isReadAsIp(host) ? host : undefined
}

/** Checks whether a certificate's name is valid for all that a host stands for: the same text, or a wildcard for its first label. */
export function coversHost(name: HostPattern, host: HostPattern): boolean {
  return (
    name === host ||
    (name.startsWith('*.') && !host.startsWith('*.') && host.slice(host.indexOf('.')) === name.slice(1))
  )
}
