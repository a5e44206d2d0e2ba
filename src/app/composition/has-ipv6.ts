import { existsSync } from 'node:fs'

/** Tells whether the kernel has IPv6: the file exists then, even without an address in it. */
export function hasIpv6(): boolean {
  return existsSync('/proc/net/if_inet6')
}
