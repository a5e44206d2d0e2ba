import { NetfilterError } from './errors.ts'

/** Names are ours by construction; this keeps a mistake from ever becoming another line. Throws NetfilterError. */
export function checkSetName(name: string): string {
  if (/^PLAT-[A-Z0-9-]{1,26}$/.test(name)) return name
  throw new NetfilterError('bad-set-name', `${JSON.stringify(name)} is no name for a set`, {
    remedy: 'expected PLAT- and at most 26 characters of A-Z, 0-9 and -',
  })
}
