import { equalHashes, formatXorHash, hashItem, parseXorHash, type XorHash } from '../model/xor-hash.ts'
import { renderRule } from './render.ts'
import type { Chain, ProxyTable } from './ruleset.ts'

/** The chain in each table that says what the table was made from; written in the same commit as the rules it describes. */
export const stateChain = 'PLAT-STATE'

export interface Stamp {
  /** The version of this format and of the shape of our rules; a program that writes another shape counts on. */
  readonly version: 2
  /** Every object, and everything else, that the rules were made from (spec 2.12 rule 2). */
  readonly objects: XorHash
  /** The chains of this table as they were written, this one apart. */
  readonly rules: XorHash
  /** In nat: what `rules` of filter is once all of the write has gone through, of which filter's last commit may be missing. */
  readonly filter?: XorHash
}

/** Rules without match or target: the kernel carries their comments and does nothing. */
export function renderStamp(stamp: Stamp): Chain {
  return [
    { matches: [], comment: `version ${stamp.version}` },
    { matches: [], comment: `objects ${formatXorHash(stamp.objects)}` },
    { matches: [], comment: `rules ${formatXorHash(stamp.rules)}` },
    ...(stamp.filter === undefined ? [] : [{ matches: [], comment: `filter ${formatXorHash(stamp.filter)}` }]),
  ]
}

/** Undefined for anything but a whole stamp of a version this program knows; accepts chains read back with unparsed rules. */
export function parseStamp(chain: readonly { readonly comment?: string }[]): Stamp | undefined {
  const [version, ...lines] = chain.map((rule) => (rule.comment ?? '').split(' '))
  if (version?.join(' ') !== 'version 2' || lines.length > 3) return undefined
  const [objects, rules] = [parseLine('objects', lines[0]), parseLine('rules', lines[1])]
  if (objects === undefined || rules === undefined) return undefined
  if (lines.length === 2) return { version: 2, objects, rules }
  const filter = parseLine('filter', lines[2])
  return filter && { version: 2, objects, rules, filter }
}

/** Whether both tables hold, whole, what was made from these objects. */
export function stampsMatch(
  objects: XorHash,
  { nat, filter }: Readonly<Record<ProxyTable, Stamp | undefined>>,
): boolean {
  if (nat?.filter === undefined || filter === undefined) return false
  return equalHashes(nat.objects, objects) && equalHashes(nat.filter, filter.rules)
}

/** One chain's part in `Stamp.rules`: add it when the chain is written, remove it when it goes or changes. */
export function hashChain(name: string, chain: Chain): bigint {
  return hashItem(name, chain.map((rule) => renderRule(name, rule)).join('\n'))
}

function parseLine(label: string, words: readonly string[] | undefined): XorHash | undefined {
  const [first, hash, ...rest] = words ?? []
  return first === label && hash !== undefined && rest.length === 0 ? parseXorHash(hash) : undefined
}
