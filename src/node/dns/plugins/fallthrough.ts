import type { Fallthrough } from '../corefile/settings.ts'
import { isUnder } from '../wire/name.ts'

/** Whether a name that a plugin does not know is for the next one. */
export function fallsThrough(fallthrough: Fallthrough, name: Uint8Array): boolean {
  return fallthrough === 'all' || (fallthrough?.some((zone) => isUnder(name, zone)) ?? false)
}
