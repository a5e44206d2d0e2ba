import { checkNetnsName } from '../netns-name.ts'
import type { RunOptions } from './options.ts'

export const defaultMaxOutputBytes = 256 * 1024 * 1024

/** Builds the command: `ip netns exec` becomes the program, so the pid is the program's own. Throws NetworkNameError. */
export function commandOf(
  file: string,
  args: readonly string[],
  { netns }: Pick<RunOptions, 'netns'>,
): readonly [file: string, ...args: string[]] {
  if (netns === undefined) return [file, ...args]
  checkNetnsName(netns)
  return ['ip', 'netns', 'exec', netns, file, ...args]
}

/** Builds the environment: that of a trusted program speaks English, because output is parsed, and has the sbin folders in PATH. */
export function environmentOf({ env, untrusted }: Pick<RunOptions, 'env' | 'untrusted'>): Record<string, string> {
  if (untrusted === true) return { ...env }
  const own = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const path = `${process.env['PATH'] ?? ''}:/usr/local/sbin:/usr/sbin:/sbin`
  return { ...Object.fromEntries(own), PATH: path, LC_ALL: 'C', ...env }
}
