import type { Ip } from '../../../model/ip.ts'

/** Returns whether the text may be one label of a name in the cluster's zone. */
export function isLabel(text: string): boolean {
  return /^[a-z0-9_]([-a-z0-9_]{0,61}[a-z0-9])?$/.test(text)
}

/** Returns the label of an endpoint's address: dashes for dots and colons. No label begins or ends with a dash. */
export function dashedAddress(address: Ip): string {
  return address.replace(/[.:]/g, '-').replace(/^-/, '0-').replace(/-$/, '-0')
}

/** Returns the label of a Pod by its address: dashes for dots and colons. */
export function podLabel(address: Ip): string {
  return address.replace(/[.:]/g, '-')
}
