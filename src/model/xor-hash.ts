import { hash } from 'node:crypto'

/**
 * An order-independent hash of a set of items (spec 2.12 rule 2): the XOR of every item's 64-bit hash, and their number.
 * Key and content are hashed together, so equal contents under two keys do not cancel out; the count tells an empty set
 * from one that happens to XOR to zero.
 */
export interface XorHash {
  readonly value: bigint
  readonly count: number
}

export const emptyXorHash: XorHash = { value: 0n, count: 0 }

/** Hashes an item to 64 bits of SHA-256 over the key's length, the key and the content. */
export function hashItem(key: string, content: string): bigint {
  const digest = hash('sha256', `${key.length}:${key}${content}`, 'hex')
  return BigInt(`0x${digest.slice(0, 16)}`)
}

/** Adds or removes an item: both are the same XOR, only the count differs. */
export function addHash(hash: XorHash, item: bigint): XorHash {
  return { value: hash.value ^ item, count: hash.count + 1 }
}

export function removeHash(hash: XorHash, item: bigint): XorHash {
  return { value: hash.value ^ item, count: hash.count - 1 }
}

export function equalHashes(a: XorHash, b: XorHash): boolean {
  return a.value === b.value && a.count === b.count
}

/** Formats a hash as 16 hex digits and the count: `0123456789abcdef/42`. */
export function formatXorHash(hash: XorHash): string {
  return `${hash.value.toString(16).padStart(16, '0')}/${hash.count}`
}

/** Parses the text of `formatXorHash`; undefined for any other text. */
export function parseXorHash(text: string): XorHash | undefined {
  const [, value, count] = /^([0-9a-f]{16})\/(0|[1-9]\d{0,14})$/.exec(text) ?? []
  return value === undefined || count === undefined ? undefined : { value: BigInt(`0x${value}`), count: Number(count) }
}
