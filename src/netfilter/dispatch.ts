import type { ObjectKey } from '../model/api-object.ts'
import type { Chain, Match, Rule, TableName } from './ruleset.ts'

/**
 * Above how many rules a shared chain is split into buckets, and below how many it is one chain again. A rule that does not
 * match costs a packet about 14 ns, so 256 cost less than the rest of its way through the tables (measured.md), and writing
 * them takes 30 KB; up to there the flat chain of the spec is the simplest. The gap keeps a cluster at the limit from
 * being rewritten with every change.
 */
export const bucketLimits = { split: 256, join: 128 } as const

/** How the rules of a shared chain are spread over buckets, and how a packet finds its bucket. */
export interface BucketLayout {
  /** The first chain of the bucketed form; it returns what no rule took. */
  readonly root: string
  /** The chain that holds this rule. */
  bucketOf(rule: Rule): string
  /** The chains that lead to the buckets. */
  entries(usedBuckets: Iterable<string>): ReadonlyMap<string, Chain>
  /** Buckets that stand even when they are empty. */
  readonly fixedBuckets: readonly string[]
}

/** Takes whole chains of one table. */
export interface ChainSink {
  set(name: string, chain: Chain): void
  remove(name: string): void
}

export interface DispatchOptions {
  readonly table: TableName
  readonly chain: string
  readonly layout: BucketLayout
  /** What stands after the Services' rules; reached by whatever none of them took, in both forms. */
  readonly tail?: Chain
}

/**
 * A chain that all Services share. While it is small its rules stand in it, in order of the Services' keys; when it is large
 * they stand in buckets, and a change writes the bucket it is about. Buckets are entered by a jump to the root and gotos
 * from there, so that what no rule took comes back behind that jump.
 */
export class DispatchChain {
  readonly options: DispatchOptions
  #tail: Chain
  readonly #members = new Map<ObjectKey, Chain>()
  readonly #buckets = new Map<string, Map<ObjectKey, Chain>>()
  #stale = new Set<string>()
  #written = new Set<string>()
  #ruleCount = 0
  #isBucketed = false
  #isWritten = false
  #isTailStale = false

  constructor(options: DispatchOptions) {
    this.options = options
    this.#tail = options.tail ?? []
  }

  /** The whole chain is written again at the next `write`. */
  setTail(tail: Chain): void {
    this.#tail = tail
    this.#isTailStale = true
  }

  /** A Service's rules are now `next`. */
  replace(key: ObjectKey, previous: Chain, next: Chain): void {
    for (const [bucket] of this.#group(previous)) {
      const members = this.#buckets.get(bucket)
      members?.delete(key)
      if (members?.size === 0) this.#buckets.delete(bucket)
      this.#stale.add(bucket)
    }
    for (const [bucket, rules] of this.#group(next)) {
      const members = this.#buckets.get(bucket) ?? new Map<ObjectKey, Chain>()
      this.#buckets.set(bucket, members.set(key, rules))
      this.#stale.add(bucket)
    }
    if (next.length > 0) this.#members.set(key, next)
    else this.#members.delete(key)
    this.#ruleCount += next.length - previous.length
  }

  /**
   * Hands over the chains that differ since the last call; all of them at the first one, and when the form changes. Between two steps
   * others may work, and change this chain too: that goes out with the next call.
   */
  *write(sink: ChainSink): Generator<void, void> {
    const isBucketed = this.#ruleCount > (this.#isBucketed ? bucketLimits.join : bucketLimits.split)
    const isNewForm = !this.#isWritten || isBucketed !== this.#isBucketed
    if (!isNewForm && this.#stale.size === 0 && !this.#isTailStale) return
    this.#isBucketed = isBucketed
    this.#isWritten = true
    const stale = this.#stale
    this.#stale = new Set()
    this.#isTailStale = false
    if (isBucketed) yield* this.#writeBuckets(isNewForm, stale, sink)
    else this.#writeFlat(sink)
  }

  #group(rules: Chain): ReadonlyMap<string, Chain> {
    return Map.groupBy(rules, (rule) => this.options.layout.bucketOf(rule))
  }

  #writeFlat(sink: ChainSink): void {
    const { chain } = this.options
    sink.set(chain, [...inOrder([...this.#members]), ...this.#tail])
    for (const name of this.#written) sink.remove(name)
    this.#written = new Set()
  }

  *#writeBuckets(isNewForm: boolean, stale: ReadonlySet<string>, sink: ChainSink): Generator<void, void> {
    const { chain, layout } = this.options
    const used = new Set([...layout.fixedBuckets, ...this.#buckets.keys()])
    for (const bucket of isNewForm ? used : stale) {
      if (used.has(bucket)) sink.set(bucket, inOrder([...(this.#buckets.get(bucket) ?? [])]))
      yield
    }
    const entries = layout.entries(used)
    for (const [name, rules] of entries) sink.set(name, rules)
    sink.set(chain, [{ matches: [], target: { kind: 'jump', chain: layout.root } }, ...this.#tail])
    const written = new Set([...used, ...entries.keys()])
    for (const name of this.#written.difference(written)) sink.remove(name)
    this.#written = written
  }
}

/** By key. */
function inOrder(entries: readonly (readonly [ObjectKey, Chain])[]): Chain {
  return entries.toSorted(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, rules]) => rules)
}

const hexDigits = [...'0123456789ABCDEF']

/**
 * By the last byte of the destination, in two steps of 16: addresses are given out one after the other, so that byte spreads
 * them evenly, and both families and all kinds of addresses fit in the same 256 buckets. The way there never changes.
 */
export function bucketsByDestination(root: string): BucketLayout {
  const bucketOf = (byte: number) => `${root}-${byte.toString(16).toUpperCase().padStart(2, '0')}`
  const entries = new Map<string, Chain>([
    [root, hexDigits.map((high, index) => goWhere(index * 16, 0xf0, `${root}-${high}`))],
    ...hexDigits.map((high, index): [string, Chain] => [
      `${root}-${high}`,
      hexDigits.map((_, low) => goWhere(index * 16 + low, 0xff, bucketOf(index * 16 + low))),
    ]),
  ])
  return {
    root,
    fixedBuckets: Array.from({ length: 256 }, (_, byte) => bucketOf(byte)),
    bucketOf: (rule) => bucketOf(lastByteOf(rule)),
    entries: () => entries,
  }
}

function goWhere(value: number, mask: number, chain: string): Rule {
  return { matches: [{ kind: 'destination-byte', value, mask }], target: { kind: 'goto', chain } }
}

function lastByteOf(rule: Rule): number {
  const cidr = rule.matches.find((match) => match.kind === 'destination')?.cidr ?? ''
  const address = cidr.slice(0, cidr.indexOf('/'))
  if (!address.includes(':')) return Number(address.slice(address.lastIndexOf('.') + 1))
  return Number.parseInt(address.slice(address.lastIndexOf(':') + 1) || '0', 16) & 0xff
}

/** How many neighbouring ports share a bucket: the usual 2,768 node ports make 44. */
const portsPerBucket = 64

/** By protocol and port, in ranges; only ranges in use have a bucket. */
export function bucketsByPort(root: string): BucketLayout {
  return {
    root,
    fixedBuckets: [],
    bucketOf: (rule) => {
      const { protocol, port } = portOf(rule)
      return `${root}-${protocol.toUpperCase()}-${Math.floor(port / portsPerBucket)}`
    },
    entries: (usedBuckets) => new Map([[root, [...usedBuckets].sort().map(goToPorts)]]),
  }
}

function portOf(rule: Rule): { readonly protocol: 'tcp' | 'udp' | 'sctp'; readonly port: number } {
  return rule.matches.find((match) => match.kind === 'destination-port') ?? { protocol: 'tcp', port: 0 }
}

function goToPorts(bucket: string): Rule {
  const [protocol = '', index = ''] = bucket.split('-').slice(-2)
  const port = Number(index) * portsPerBucket
  const inRange: Match = {
    kind: 'destination-port',
    protocol: protocol === 'UDP' ? 'udp' : protocol === 'SCTP' ? 'sctp' : 'tcp',
    port,
    lastPort: port + portsPerBucket - 1,
  }
  return { matches: [inRange], target: { kind: 'goto', chain: bucket } }
}

/** A chain of the dispatch: each of its rules decides by itself, whatever stands around it. */
export function isDispatchChain(name: string): boolean {
  return /^PLAT-(SERVICES|EXTERNAL|NODEPORTS|DST|XDST|PORT)(-|$)/.test(name)
}
