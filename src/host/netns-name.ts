import { PlatnetError } from '../model/errors.ts'

/** A name of a namespace or network interface that the kernel or iproute2 cannot hold. */
export class NetworkNameError extends PlatnetError<'invalid-name'> {}

/** Matches a file name that needs no quoting and cannot be taken for an option. */
export function checkNetnsName(name: string): void {
  if (/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$/.test(name)) return
  throw new NetworkNameError('invalid-name', `network namespace name ${JSON.stringify(name)} is not usable`, {
    remedy: 'use 1 to 63 letters, digits, "_", "." and "-", not starting with "." or "-"',
  })
}
