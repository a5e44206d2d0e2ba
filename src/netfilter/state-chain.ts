import { addHash, emptyXorHash, formatXorHash, hashItem, parseXorHash, type XorHash } from '../model/xor-hash.ts'
import { renderRule } from './render.ts'
import type { Chain } from './ruleset.ts'

/** The chain in each table that says what the table was made from; written in the same commit as the rules it describes. */
export const stateChain = 'PLAT-STATE'

export interface Stamp {
  /** Of this format and of the shape of our rules: a program that writes others counts on. */
  readonly version: 1
  /** Every object, and everything else, that the rules were made from (spec 2.12 rule 2). */
  readonly objects: XorHash
  /** The chains of this table as they were written, this one apart. */
  readonly rules: XorHash
}

/** Rules without match or target: the kernel carries their comments and does nothing. */
export function renderStamp(stamp: Stamp): Chain {
  return [
    { matches: [], comment: `version ${stamp.version}` },
    { matches: [], comment: `objects ${formatXorHash(stamp.objects)}` },
    { matches: [], comment: `rules ${formatXorHash(stamp.rules)}` },
  ]
}

/** Undefined for anything but a whole stamp of a version this program knows; accepts chains read back with unparsed rules. */
export function parseStamp(chain: readonly { readonly comment?: string }[]): Stamp | undefined {
  const [version, objects, rules] = chain.map((rule) => (rule.comment ?? '').split(' '))
  if (chain.length !== 3 || version?.join(' ') !== 'version 1') return undefined
  const objectsHash = parseLine('objects', objects)
  const rulesHash = parseLine('rules', rules)
  return objectsHash && rulesHash && { version: 1, objects: objectsHash, rules: rulesHash }
}

/** One chain's part in `Stamp.rules`: add it when the chain is written, remove it when it goes or changes. */
export function hashChain(name: string, chain: Chain): bigint {
  return hashItem(name, chain.map((rule) => renderRule(name, rule)).join('\n'))
}

export function hashTable(chains: ReadonlyMap<string, Chain>): XorHash {
  let hash = emptyXorHash
  for (const [name, chain] of chains) if (name !== stateChain) hash = addHash(hash, hashChain(name, chain))
  return hash
}

function parseLine(label: string, words: readonly string[] | undefined): XorHash | undefined {
  const [first, hash, ...rest] = words ?? []
  return first === label && hash !== undefined && rest.length === 0 ? parseXorHash(hash) : undefined
}
