import { isUnder, type WireName } from '../wire/name.ts'

/** The zones in which a name that a plugin does not know is left to the next plugin: `all` or a list; undefined is none. */
export type Fallthrough = 'all' | readonly WireName[] | undefined

/** Returns whether the next plugin answers a name that this one does not know. */
export function fallsThrough(fallthrough: Fallthrough, name: Uint8Array): boolean {
  return fallthrough === 'all' || (fallthrough?.some((zone) => isUnder(name, zone)) ?? false)
}
