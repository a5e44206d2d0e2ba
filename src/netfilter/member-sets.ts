import type { IpFamily } from '../model/ip.ts'
import { NetfilterError } from './errors.ts'
import { checkSetName } from './set-name.ts'

/**
 * Kinds of ipset that every kernel with ipset has. `hash:net` also holds single addresses. There is none for pairs of addresses
 * (`hash:net,net` is often left out): whether a packet goes to its own source says `differentAddresses`.
 */
type MemberSetType = 'hash:ip' | 'hash:net' | 'hash:ip,port' | 'hash:ip,port,ip'

/** An ipset whose members are ours; its name begins with `PLAT-NP-` and belongs to one family. */
export interface MemberSet {
  readonly type: MemberSetType
  readonly family: IpFamily
  /** Counts the packets that each member matched (`readCounters`). */
  readonly counters?: true
  /** Rules put the members in, and each one leaves after this time: the set has no members of ours. */
  readonly timeoutSeconds?: number
  /** A set with members of ours grows beyond this where it has more. */
  readonly maxElements: number
}

/**
 * One step from what is wanted of sets to what is wanted next, by name. Elements are canonical text: `10.0.0.1`, `10.0.0.0/24`
 * (never `/32`, `/128`, `/0`), `10.0.0.1,tcp:80`, `10.0.0.1,tcp:80,10.0.0.2`, IPv6 addresses without brackets. A set that is
 * created is empty until `add` names it; one that is destroyed needs no `remove`. A name may stand in `destroy` and in `create`:
 * then the new set replaces the old one.
 */
export interface SetChange {
  readonly create: ReadonlyMap<string, MemberSet>
  readonly add: ReadonlyMap<string, readonly string[]>
  readonly remove: ReadonlyMap<string, readonly string[]>
  readonly destroy: readonly string[]
}

/** A set of ours as `ipset save` prints it. */
export interface HeldMemberSet {
  /** A type of `MemberSetType`, or any other. */
  readonly type: string
  readonly family: IpFamily
  readonly counters: boolean
  readonly timeoutSeconds: number | undefined
  readonly maxElements: number
  readonly members: ReadonlySet<string>
}

/** A set of ours without its members. */
export interface SetHeader extends Omit<HeldMemberSet, 'members'> {
  /** How many members it has. */
  readonly count: number
}

/** One member as the kernel holds it. */
export interface MemberEntry {
  readonly element: string
  /** Zero where the set does not count. */
  readonly packets: number
  readonly bytes: number
}

const prefix = 'PLAT-NP-'
/** The names under which new sets are made that take the place of others. */
export const spareSets: Readonly<Record<IpFamily, string>> = { IPv4: 'PLAT-NP-SPARE4', IPv6: 'PLAT-NP-SPARE6' }

/** Tells whether the text begins with the name of a set of ours. */
export function isOwnSet(text: string): boolean {
  return text.startsWith(prefix)
}

/** Reads what `ipset save` prints, line by line so that the caller can pause; sets that are not ours are left out. */
export class MemberSetParser {
  readonly sets = new Map<string, HeldMemberSet>()
  readonly #members = new Map<string, Set<string>>()

  readLine(line: string): void {
    if (line.startsWith(`add ${prefix}`)) {
      const [, name = '', element = ''] = line.split(' ', 3)
      this.#members.get(name)?.add(comparable(element))
    }
    if (!line.startsWith(`create ${prefix}`)) return
    const [, name = '', type = '', ...options] = line.split(' ')
    const members = new Set<string>()
    this.#members.set(name, members)
    this.sets.set(name, { type, ...readOptions(options), members })
  }
}

/** Reads the members of one set from `ipset save NAME`. */
export function parseMemberEntries(saved: string): readonly MemberEntry[] {
  const count = (line: string, word: string) => Number(new RegExp(` ${word} (\\d+)`).exec(line)?.[1] ?? 0)
  const lines = saved.split('\n').filter((line) => line.startsWith('add '))
  return lines.map((line) => ({
    element: comparable(line.split(' ', 3)[2] ?? ''),
    packets: count(line, 'packets'),
    bytes: count(line, 'bytes'),
  }))
}

/** Reads our sets from `ipset list -terse`: how many members each one has. */
export function parseMemberCounts(listed: string): ReadonlyMap<string, SetHeader> {
  const blocks = listed.split(/^Name: /m).filter(isOwnSet)
  return new Map(
    blocks.map((block) => {
      const value = (label: string) => new RegExp(`^${label}: (.*)$`, 'm').exec(block)?.[1] ?? ''
      const options = readOptions(value('Header').split(' '))
      return [
        block.split('\n', 1)[0] ?? '',
        { type: value('Type'), ...options, count: Number(value('Number of entries')) },
      ]
    }),
  )
}

function readOptions(words: readonly string[]): Omit<HeldMemberSet, 'type' | 'members'> {
  const value = (word: string) => (words.includes(word) ? words[words.indexOf(word) + 1] : undefined)
  const timeout = value('timeout')
  return {
    family: value('family') === 'inet6' ? 'IPv6' : 'IPv4',
    counters: words.includes('counters'),
    timeoutSeconds: timeout === undefined ? undefined : Number(timeout),
    maxElements: Number(value('maxelem') ?? 0),
  }
}

/**
 * What the kernel needs to hold `wanted` with so many members under a name: nothing, a new set in exchange (other options, or more
 * room), or another set in its place, which it refuses while rules name the old one.
 */
export function fitOf(
  wanted: MemberSet,
  held: Omit<HeldMemberSet, 'members'>,
  count: number,
): 'same' | 'exchange' | 'replace' {
  if (held.type !== wanted.type || held.family !== wanted.family) return 'replace'
  const hasOptions = held.counters === (wanted.counters === true) && held.timeoutSeconds === wanted.timeoutSeconds
  return hasOptions && held.maxElements >= Math.max(count, wanted.maxElements) ? 'same' : 'exchange'
}

/** How many members a set is made for: what is asked for, or twice what it has where that is more. */
export function roomOf({ maxElements }: MemberSet, count: number): number {
  return count <= maxElements ? maxElements : powerOfTwoFrom(2 * count)
}

export function createLines(name: string, set: MemberSet, members: ReadonlySet<string>): readonly string[] {
  const options = [
    `family ${set.family === 'IPv4' ? 'inet' : 'inet6'}`,
    ...hashSize(members.size),
    `maxelem ${roomOf(set, members.size)}`,
    ...(set.timeoutSeconds === undefined ? [] : [`timeout ${set.timeoutSeconds}`]),
    ...(set.counters ? ['counters'] : []),
  ]
  return [`create ${checkMemberSetName(name)} ${set.type} ${options.join(' ')}`, ...addLines(name, members)]
}

/** The new set takes the place of the old one in one step, for all rules that name it. */
export function exchangeLines(name: string, set: MemberSet, members: ReadonlySet<string>): readonly string[] {
  const other = spareSets[set.family]
  return [...createLines(other, set, members), `swap ${other} ${checkMemberSetName(name)}`, `destroy ${other}`]
}

export function addLines(name: string, elements: ReadonlySet<string>): readonly string[] {
  return Array.from(elements, (element) => `add ${name} ${element}`)
}

export function removeLines(name: string, elements: ReadonlySet<string>): readonly string[] {
  return Array.from(elements, (element) => `del ${name} ${element}`)
}

/** Throws NetfilterError for a set or a member that must not become text. */
export function checkMemberSetName(name: string): string {
  if (isOwnSet(name)) return checkSetName(name)
  throw new NetfilterError('bad-set-name', `${JSON.stringify(name)} is no name for a set with members`, {
    remedy: `expected ${prefix} and at most 23 characters of A-Z, 0-9 and -`,
  })
}

const ipv4 = String.raw`(?:\d{1,3}\.){3}\d{1,3}`
const ipv6 = String.raw`[\da-f:]*:[\da-f:]*(?:\d{1,3}(?:\.\d{1,3}){3})?`
const port = String.raw`(?:tcp|udp|sctp):\d{1,5}`

function patternsOf(address: string, prefixLength: string): Readonly<Record<MemberSetType, RegExp>> {
  return {
    'hash:ip': new RegExp(`^${address}$`),
    'hash:net': new RegExp(`^${address}(?:/${prefixLength})?$`),
    'hash:ip,port': new RegExp(`^${address},${port}$`),
    'hash:ip,port,ip': new RegExp(`^${address},${port},${address}$`),
  }
}

const patterns: Readonly<Record<IpFamily, Readonly<Record<MemberSetType, RegExp>>>> = {
  IPv4: patternsOf(ipv4, '(?:[1-9]|[12]\\d|3[01])'),
  IPv6: patternsOf(ipv6, '(?:[1-9]|[1-9]\\d|1[01]\\d|12[0-7])'),
}

/** Returns the member in the form in which members are compared. Throws NetfilterError where it is none of such a set. */
export function checkElement(name: string, { type, family, timeoutSeconds }: MemberSet, element: string): string {
  if (timeoutSeconds === undefined && patterns[family][type].test(element)) return comparable(element)
  throw new NetfilterError('bad-set-element', `${JSON.stringify(element)} is no member of set ${name}`, {
    remedy: timeoutSeconds === undefined ? `expected an element of ${type} of ${family}` : 'rules alone put members in',
  })
}

/** The C library prints the end of an IPv6 address in dots where the first 96 bits are zero; we never do. */
function comparable(element: string): string {
  if (!element.includes('.') || !element.includes('::')) return element
  return element.replace(/(::(?:[\da-f]+:)*)(\d+)\.(\d+)\.(\d+)\.(\d+)/g, (_, head: string, ...bytes: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = bytes.slice(0, 4).map(Number)
    return `${head}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
  })
}

/** A bucket holds up to 12 members; with four on average the kernel never has to enlarge the table, which takes longer than the members. */
function hashSize(count: number): readonly string[] {
  return count <= 4096 ? [] : [`hashsize ${powerOfTwoFrom(count / 4)}`]
}

function powerOfTwoFrom(value: number): number {
  return 2 ** Math.ceil(Math.log2(value))
}
