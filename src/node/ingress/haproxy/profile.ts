import type { Backend } from '../../../model/routing-table.ts'

/** The part of a backend that only a reload can change. */
export interface Profile {
  readonly balance: Backend['balance']
  readonly protocol: Backend['protocol']
  readonly cookie?: string
}

const cookieName = /^[A-Za-z0-9_-]{1,64}$/

/** Profiles of which some proxies are always spare. */
export const plainProfiles: readonly Profile[] = [
  { balance: 'round-robin', protocol: 'http1' },
  { balance: 'round-robin', protocol: 'h2c' },
  { balance: 'least-connections', protocol: 'http1' },
  { balance: 'least-connections', protocol: 'h2c' },
]

/** Reads the profile of a backend; undefined for an identifier or a cookie's name that no line of a configuration may hold. */
export function profileOf({ id, balance, protocol, stickiness }: Backend): Profile | undefined {
  if (!/^[a-z0-9_.-]{1,63}$/.test(id)) return undefined
  if (stickiness === undefined) return { balance, protocol }
  return cookieName.test(stickiness.cookie) ? { balance, protocol, cookie: stickiness.cookie } : undefined
}

/** The text by which profiles are compared, and the beginning of the names of their proxies: `rr.h1`, `lc.h2.COOKIE`. */
export function profileName({ balance, protocol, cookie }: Profile): string {
  const parts = [balance === 'round-robin' ? 'rr' : 'lc', protocol === 'http1' ? 'h1' : 'h2']
  return [...parts, ...(cookie === undefined ? [] : [cookie])].join('.')
}

/** Names a proxy: its profile and a number. */
export function proxyName(profile: Profile, number: number): string {
  return `${profileName(profile)}.${number}`
}

/** Reads the profile from a proxy's name; undefined for proxies that serve no backend. */
export function profileOfProxy(name: string): Profile | undefined {
  const match = /^(rr|lc)\.(h1|h2)(?:\.([A-Za-z0-9_-]{1,64}))?\.\d+$/.exec(name)
  if (match === null) return undefined
  const [, balance, protocol, cookie] = match
  return {
    balance: balance === 'rr' ? 'round-robin' : 'least-connections',
    protocol: protocol === 'h1' ? 'http1' : 'h2c',
    ...(cookie !== undefined && { cookie }),
  }
}

/** Counts the spare proxies for a number in use: as many again, so that the number of reloads grows with the logarithm. */
export function spareCount(profile: Profile, used: number): number {
  const least = profile.cookie === undefined ? 16 : 4
  return Math.min(1000, Math.max(least, used))
}

/** Options of a server, in the configuration and in `add server`. */
export function serverOptions({ protocol }: Profile): string {
  return protocol === 'h2c' ? ' proto h2' : ''
}
