import type { ObjectKey } from '../model/api-object.ts'
import { equalChains } from './parse.ts'
import type { Chain, Match, ProxyTable, Rule } from './ruleset.ts'

/**
 * Above how many rules a shared chain is split into buckets, and below how many it is one chain again. A rule that does not
 * match costs a packet about 14 ns, so 256 cost less than the rest of its way through the tables (docs/measurements/proxy.md), and writing
 * them takes 30 KB; up to there the flat chain of the spec is the simplest. The gap keeps a cluster at the limit from
 * being rewritten with every change.
 */
export const bucketLimits = { split: 256, join: 128 } as const

/**
 * The same for a third step: 256 buckets of 64 rules each, of which a packet walks half, cost as much as 16 more entries do.
 * What stands in the tables slows every commit down, so the 4,096 chains are made only where they pay.
 */
export const deepBucketLimits = { split: 16_384, join: 8_192 } as const

/** Where shared chains take another form. */
export interface DispatchLimits {
  readonly buckets: BucketForm['limits']
  readonly deepBuckets: BucketForm['limits']
}

export const dispatchLimits: DispatchLimits = { buckets: bucketLimits, deepBuckets: deepBucketLimits }

/** How the rules of a shared chain are spread over buckets, and how a packet finds its bucket. */
export interface BucketLayout {
  /** The first chain of the bucketed form; it returns what no rule took. */
  readonly root: string
  /** The chain that holds this rule. */
  bucketOf(rule: Rule): string
  /** The chains that lead to the buckets. */
  entries(usedBuckets: Iterable<string>): ReadonlyMap<string, Chain>
  /** Buckets that stand even when they are empty: all there are, or none. */
  readonly fixedBuckets: readonly string[]
}

/** Takes whole chains of one table. */
export interface ChainSink {
  set(name: string, chain: Chain): void
  remove(name: string): void
}

/** A form that a shared chain takes while it has more rules than `split`, until it has no more than `join`. */
export interface BucketForm {
  readonly limits: { readonly split: number; readonly join: number }
  readonly layout: BucketLayout
}

export interface DispatchOptions {
  readonly table: ProxyTable
  readonly chain: string
  /** From the one for the fewest rules to the one for most. */
  readonly forms: readonly BucketForm[]
  /** The rules of all Services in this chain, in any order; asked for when the form changes. */
  readonly rules: () => Iterable<readonly [ObjectKey, Chain]>
  /** The rules after those of the Services; packets that match no Service reach them in both forms. */
  readonly tail?: Chain
}

/** The rules of Services in one bucket. */
type Bucket = Map<ObjectKey, Chain>

const noEntries: ReadonlyMap<string, Chain> = new Map()

/**
 * A chain that all Services share. While it is small its rules stand in it, in order of the Services' keys; when it is large
 * they stand in buckets, and a change writes the bucket it is about. Buckets are entered by a jump to the root and gotos
 * from there, so that what no rule took comes back behind that jump.
 */
export class DispatchChain {
  readonly options: DispatchOptions
  #tail: Chain
  /** The buckets by chain; in the flat form the only bucket is the shared chain itself. */
  readonly #buckets = new Map<string, Bucket>()
  #stale = new Set<string>()
  /** The chains beside the shared one that were handed over last. */
  #written = new Set<string>()
  /** The chains among them that lead to the buckets. */
  #entries: ReadonlyMap<string, Chain> = noEntries
  #ruleCount = 0
  /** How many of the forms it has grown through. */
  #depth = 0
  #isWritten = false
  #isTailStale = false

  constructor(options: DispatchOptions) {
    this.options = options
    this.#tail = options.tail ?? []
  }

  setTail(tail: Chain): void {
    if (equalChains(tail, this.#tail)) return
    this.#tail = tail
    this.#isTailStale = true
  }

  /** A Service's rules are now `next`. */
  replace(key: ObjectKey, previous: Chain, next: Chain): void {
    if (equalChains(previous, next)) return
    const [before, after] = [this.#byBucket(previous), this.#byBucket(next)]
    for (const name of before.keys()) if (!after.has(name)) this.#put(name, key, undefined)
    for (const [name, rules] of after) {
      const held = before.get(name)
      if (held === undefined || !equalChains(held, rules)) this.#put(name, key, rules)
    }
    this.#ruleCount += next.length - previous.length
  }

  /**
   * Hands over the chains that differ since the last call; all of them at the first one, and when the form changes. Between two steps
   * others may work, and change this chain too: that goes out with the next call.
   */
  *write(sink: ChainSink): Generator<void, void> {
    const depth = this.#wantedDepth()
    const isNewForm = !this.#isWritten || depth !== this.#depth
    if (!isNewForm && this.#stale.size === 0 && !this.#isTailStale) return
    const isSharedStale = !this.#isWritten || this.#isTailStale || (depth === 0) !== (this.#depth === 0)
    this.#depth = depth
    this.#isWritten = true
    this.#isTailStale = false
    if (isNewForm) yield* this.#spread()
    const stale = this.#stale
    this.#stale = new Set()
    const layout = this.#layout
    if (layout) yield* this.#writeBuckets({ layout, stale, isNewForm, isSharedStale }, sink)
    else this.#writeFlat(sink)
  }

  get #layout(): BucketLayout | undefined {
    return this.options.forms[this.#depth - 1]?.layout
  }

  #wantedDepth(): number {
    return this.options.forms.filter(
      ({ limits }, index) => this.#ruleCount > (index < this.#depth ? limits.join : limits.split),
    ).length
  }

  /** Rules that change meanwhile are put where they belong by `replace`, and stay there. */
  *#spread(): Generator<void, void> {
    this.#buckets.clear()
    for (const [key, rules] of this.options.rules()) {
      for (const [name, own] of this.#byBucket(rules)) this.#put(name, key, own)
      yield
    }
  }

  #byBucket(rules: Chain): ReadonlyMap<string, Chain> {
    const layout = this.#layout
    const [first] = rules
    if (first === undefined) return noEntries
    if (layout === undefined) return new Map([[this.options.chain, rules]])
    return rules.length === 1 ? new Map([[layout.bucketOf(first), rules]]) : Map.groupBy(rules, layout.bucketOf)
  }

  #put(name: string, key: ObjectKey, rules: Chain | undefined): void {
    this.#stale.add(name)
    const bucket = this.#buckets.get(name) ?? new Map<ObjectKey, Chain>()
    if (rules === undefined) bucket.delete(key)
    else bucket.set(key, rules)
    if (bucket.size === 0) this.#buckets.delete(name)
    else this.#buckets.set(name, bucket)
  }

  #writeFlat(sink: ChainSink): void {
    const { chain } = this.options
    sink.set(chain, [...inOrder(this.#buckets.get(chain)), ...this.#tail])
    for (const name of this.#written) sink.remove(name)
    this.#written = new Set()
    this.#entries = noEntries
  }

  *#writeBuckets({ layout, stale, isNewForm, isSharedStale }: BucketChanges, sink: ChainSink): Generator<void, void> {
    const { fixedBuckets, root } = layout
    const isFixed = fixedBuckets.length > 0
    for (const name of isNewForm ? new Set([...fixedBuckets, ...this.#buckets.keys()]) : stale) {
      const bucket = this.#buckets.get(name)
      if (isFixed || bucket) sink.set(name, inOrder(bucket))
      yield
    }
    if (isSharedStale)
      sink.set(this.options.chain, [{ matches: [], target: { kind: 'jump', chain: root } }, ...this.#tail])
    const isOther = (name: string) => this.#written.has(name) !== this.#buckets.has(name)
    if (isNewForm || (!isFixed && stale.values().some(isOther))) this.#writeEntries(layout, sink)
  }

  #writeEntries(layout: BucketLayout, sink: ChainSink): void {
    const used = new Set([...layout.fixedBuckets, ...this.#buckets.keys()])
    const entries = layout.entries(used)
    for (const [name, rules] of entries) {
      const held = this.#entries.get(name)
      if (held === undefined || !equalChains(held, rules)) sink.set(name, rules)
    }
    this.#entries = entries
    const written = new Set([...used, ...entries.keys()])
    for (const name of this.#written.difference(written)) sink.remove(name)
    this.#written = written
  }
}

interface BucketChanges {
  readonly layout: BucketLayout
  /** The buckets that differ since the last call. */
  readonly stale: ReadonlySet<string>
  readonly isNewForm: boolean
  /** Whether the shared chain itself differs. */
  readonly isSharedStale: boolean
}

/** The rules of a bucket in order of the Services' keys. */
function inOrder(bucket: Bucket = new Map()): Chain {
  return [...bucket].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, rules]) => rules)
}

/** Which bits of the address a step decides by. */
interface Step {
  readonly shift: number
  readonly values: number
}

/**
 * The steps of a bucket tree: the last byte of the destination in two steps of 16, then half of the byte before it.
 * Addresses are allocated in sequence, so these bits spread them evenly, and both families and all kinds of addresses
 * fit in the same buckets. The path to a bucket never changes.
 */
const steps: readonly Step[] = [4, 0, 8].map((shift) => ({ shift, values: 16 }))

/** The forms of a chain whose rules each have one destination. */
export function bucketsByDestination(root: string, limits = dispatchLimits): readonly BucketForm[] {
  return [
    { limits: limits.buckets, layout: destinationLayout(root, steps.slice(0, 2)) },
    { limits: limits.deepBuckets, layout: destinationLayout(root, steps) },
  ]
}

/** Chains are named after the digits that lead to them: `PLAT-DST`, `PLAT-DST-A`, `PLAT-DST-A0`. */
function destinationLayout(root: string, path: readonly Step[]): BucketLayout {
  const nameOf = (digits: string) => (digits === '' ? root : `${root}-${digits}`)
  const entries = new Map<string, Chain>()
  let level: readonly BucketPrefix[] = [{ digits: '', value: 0, mask: 0 }]
  for (const step of path) {
    const below = level.map((prefix) => prefixesBelow(prefix, step))
    for (const [index, { digits }] of level.entries()) {
      const rules = below[index]?.map(({ value, mask, digits: next }) => goWhere(value, mask, nameOf(next)))
      entries.set(nameOf(digits), rules ?? [])
    }
    level = below.flat()
  }
  return {
    root,
    fixedBuckets: level.map(({ digits }) => nameOf(digits)),
    bucketOf: (rule) => nameOf(digitsOf(lastBitsOf(rule), path)),
    entries: () => entries,
  }
}

interface BucketPrefix {
  readonly digits: string
  readonly value: number
  readonly mask: number
}

function prefixesBelow({ digits, value, mask }: BucketPrefix, { shift, values }: Step): readonly BucketPrefix[] {
  return Array.from({ length: values }, (_, digit) => ({
    digits: `${digits}${hexDigit(digit)}`,
    value: value | (digit << shift),
    mask: mask | ((values - 1) << shift),
  }))
}

function digitsOf(bits: number, path: readonly Step[]): string {
  return path.map(({ shift, values }) => hexDigit((bits >> shift) & (values - 1))).join('')
}

function hexDigit(value: number): string {
  return value.toString(16).toUpperCase()
}

function goWhere(value: number, mask: number, chain: string): Rule {
  return { matches: [{ kind: 'destination-bits', value, mask }], target: { kind: 'goto', chain } }
}

function lastBitsOf(rule: Rule): number {
  const cidr = rule.matches.find((match) => match.kind === 'destination')?.cidr ?? ''
  const address = cidr.slice(0, cidr.indexOf('/'))
  if (address.includes(':')) return Number.parseInt(address.slice(address.lastIndexOf(':') + 1) || '0', 16)
  const [, , high = 0, low = 0] = address.split('.').map(Number)
  return high * 256 + low
}

/** How many neighbouring ports share a bucket: the usual 2,768 node ports make 44. */
const portsPerBucket = 64

/** Returns buckets by protocol and port, in ranges; only ranges in use have a bucket. */
export function bucketsByPort(root: string, limits = dispatchLimits): readonly BucketForm[] {
  return [{ limits: limits.buckets, layout: portLayout(root) }]
}

function portLayout(root: string): BucketLayout {
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
