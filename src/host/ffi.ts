import { endianness } from 'node:os'

type Ffi = typeof import('node:ffi')

/** Undefined where Node has none, or the machine is none of those whose structures are known here: Linux for 64 bits, little-endian. */
export function knownFfi(): Ffi | undefined {
  const isKnown = process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch) && endianness() === 'LE'
  return isKnown ? process.getBuiltinModule('node:ffi') : undefined
}
