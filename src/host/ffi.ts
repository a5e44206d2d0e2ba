import { endianness } from 'node:os'

type Ffi = typeof import('node:ffi')

/** Loads `node:ffi`; undefined if Node lacks it or the machine's structures are unknown here (known: 64-bit little-endian Linux). */
export function knownFfi(): Ffi | undefined {
  const isKnown = process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch) && endianness() === 'LE'
  return isKnown ? process.getBuiltinModule('node:ffi') : undefined
}
