import { TimeSlice } from '../../loop/time-slice.ts'
import type { IpFamily } from '../../model/ip.ts'
import { NetfilterError } from '../../netfilter/errors.ts'
import {
  addLines,
  checkElement,
  checkMemberSetName,
  createLines,
  exchangeLines,
  fitOf,
  type HeldMemberSet,
  type MemberSet,
  removeLines,
  roomOf,
  type SetChange,
  type SetHeader,
  spareSets,
} from '../../netfilter/member-sets.ts'

/** A set as it should be. */
export interface WantedSet {
  readonly set: MemberSet
  readonly members: ReadonlySet<string>
}

/** How a set of ours in the kernel differs from what we want. */
export interface SetDrift {
  readonly table: 'ipset'
  /** The name of the set. */
  readonly chain: string
  readonly problem: 'missing' | 'different' | 'unwanted'
}

/** Input of `ipset restore`, line by line, in the order in which it must be carried out. */
export interface SetWrite {
  /** Before the rules: sets and members that come. */
  readonly before: readonly string[]
  /** After the rules: members that go. */
  readonly after: readonly string[]
}

type HeldShape = Omit<HeldMemberSet, 'members'>

/** The wanted set of one name, and the difference to the kernel's set of that name. */
interface Entry {
  /** Absent: the set should go. */
  wanted: MemberSet | undefined
  readonly members: Set<string>
  /** Absent: the kernel has no such set. */
  held: HeldShape | undefined
  /** Members that the kernel lacks. */
  readonly add: Set<string>
  /** Members that the kernel has too many. */
  readonly remove: Set<string>
}

/**
 * The sets of one family whose members are ours: what they should hold, and what the kernel lacks of it. Does no I/O; each method
 * costs what changes, `compare` apart.
 */
export class WantedSets {
  readonly #family: IpFamily
  readonly #entries = new Map<string, Entry>()
  readonly #unwritten = new Set<string>()
  #writtenSinceRead = new Set<string>()
  #isUsed = false

  constructor(family: IpFamily) {
    this.#family = family
  }

  /** Whether any step was ever taken: sets of ours are no business of a writer that wants none. */
  get isUsed(): boolean {
    return this.#isUsed
  }

  /** The sets as they should be now. */
  get wanted(): ReadonlyMap<string, WantedSet> {
    const entries = this.#entries.entries().flatMap(([name, { wanted: set, members }]) => {
      return set === undefined ? [] : [[name, { set, members }] as const]
    })
    return new Map(entries)
  }

  /** Takes one step, or nothing of it: throws NetfilterError for a name or a member that must not become text. */
  async apply(change: SetChange): Promise<void> {
    const checked = await this.#check(change)
    this.#isUsed = true
    for (const name of change.destroy) this.#unwant(name)
    for (const [name, set] of change.create) this.#want(name, set)
    for (const [name, elements] of checked.remove) this.#removeMembers(name, elements)
    for (const [name, elements] of checked.add) this.#addMembers(name, elements)
  }

  /** Everything that the kernel lacks; sets that should go are apart (`leftovers`). */
  write(): SetWrite {
    const before: string[] = []
    const after: string[] = []
    for (const name of [...this.#unwritten].sort()) {
      const entry = this.#entryOf(name)
      const { wanted, members, held, add, remove } = entry
      if (wanted === undefined) continue
      const fit = wayOf(entry)
      if (fit === 'same') {
        before.push(...addLines(name, add))
        after.push(...removeLines(name, remove))
      } else if (fit === 'exchange') {
        before.push(...exchangeLines(name, wanted, members.union(remove)))
        after.push(...removeLines(name, remove))
      } else before.push(...(held ? [`destroy ${name}`] : []), ...createLines(name, wanted, members))
    }
    return { before: [...this.#clearSpare(), ...before], after }
  }

  /** An exchange that failed half-way has left its set. */
  #clearSpare(): readonly string[] {
    const isNeeded = () => this.#unwritten.values().some((name) => wayOf(this.#entryOf(name)) === 'exchange')
    const spare = spareSets[this.#family]
    return this.#entries.has(spare) && isNeeded() ? [`destroy ${spare}`] : []
  }

  /** The kernel has carried out `write().before`, and nothing has changed since it was made. */
  confirmBefore(): void {
    if (this.#clearSpare().length > 0) this.confirmDestroyed(spareSets[this.#family])
    for (const name of this.#unwritten) {
      const entry = this.#entryOf(name)
      const { wanted, members, add, remove } = entry
      if (wanted === undefined) continue
      this.#writtenSinceRead.add(name)
      const way = wayOf(entry)
      if (way === 'exchange') entry.held = shapeOf(wanted, members.size + remove.size)
      else if (way !== 'same') {
        entry.held = shapeOf(wanted, members.size)
        remove.clear()
      }
      add.clear()
      if (remove.size === 0) this.#unwritten.delete(name)
    }
  }

  /** The kernel has carried out `write().after` too. */
  confirmAfter(): void {
    for (const name of this.#unwritten) {
      const { wanted, remove } = this.#entryOf(name)
      if (wanted === undefined) continue
      this.#writtenSinceRead.add(name)
      remove.clear()
      this.#unwritten.delete(name)
    }
  }

  /** Sets that should go. */
  get leftovers(): readonly string[] {
    return [...this.#unwritten].filter((name) => this.#entries.get(name)?.wanted === undefined).sort()
  }

  confirmDestroyed(name: string): void {
    this.#writtenSinceRead.add(name)
    this.#unwritten.delete(name)
    this.#entries.delete(name)
  }

  /** Call it before the kernel is read while writes go on: `compare` then ignores sets that were written since. */
  beginRead(): void {
    this.#writtenSinceRead = new Set()
  }

  /** Takes what the kernel was read to hold; what differs is unwritten. Sets that await a write are no drift. */
  async compare(held: ReadonlyMap<string, HeldMemberSet>): Promise<readonly SetDrift[]> {
    const drift: SetDrift[] = []
    const slice = new TimeSlice()
    const ours = new Map([...held].filter(([, { family }]) => family === this.#family))
    for (const name of new Set([...this.#entries.keys(), ...ours.keys()])) {
      if (slice.spent) await slice.pause()
      if (this.#writtenSinceRead.has(name)) continue
      const isWaiting = this.#unwritten.has(name)
      const problem = this.#compareOne(name, ours.get(name))
      if (problem !== undefined && !isWaiting) drift.push({ table: 'ipset', chain: name, problem })
    }
    return drift
  }

  /** Whether the kernel's sets have the form and the number of members that they should have; sets that await a write aside. */
  countsMatch(listed: ReadonlyMap<string, SetHeader>): boolean {
    const areKnown = listed.entries().every(([name, { family }]) => family !== this.#family || this.#entries.has(name))
    const isAsWanted = ([name, { wanted, members }]: readonly [string, Entry]) => {
      const found = listed.get(name)
      if (this.#unwritten.has(name) || wanted === undefined) return true
      if (found === undefined || fitOf(wanted, found, members.size) !== 'same') return false
      return wanted.timeoutSeconds !== undefined || found.count === members.size
    }
    return areKnown && this.#entries.entries().every(isAsWanted)
  }

  #compareOne(name: string, held: HeldMemberSet | undefined): SetDrift['problem'] | undefined {
    if (held === undefined && this.#entries.get(name)?.wanted === undefined) {
      this.#unwritten.delete(name)
      this.#entries.delete(name)
      return undefined
    }
    const entry = this.#entryOf(name)
    entry.held = held
    entry.add.clear()
    entry.remove.clear()
    const isOurs = entry.wanted?.timeoutSeconds === undefined
    const found = isOurs ? (held?.members ?? noMembers) : noMembers
    for (const member of entry.members) if (!found.has(member)) entry.add.add(member)
    for (const member of found) if (!entry.members.has(member)) entry.remove.add(member)
    const problem = describeProblem(entry)
    if (problem === undefined) this.#unwritten.delete(name)
    else this.#unwritten.add(name)
    return problem
  }

  /** Every name and member, before any of them is taken. */
  async #check({ create, add, remove }: SetChange): Promise<Pick<SetChange, 'add' | 'remove'>> {
    for (const name of create.keys()) checkMemberSetName(name)
    const slice = new TimeSlice()
    const check = async (elements: ReadonlyMap<string, readonly string[]>) => {
      const checked = new Map<string, readonly string[]>()
      for (const [name, texts] of elements) {
        const set = create.get(name) ?? this.#entries.get(checkMemberSetName(name))?.wanted
        if (set === undefined) throw unknownSet(name)
        checked.set(
          name,
          texts.map((text) => checkElement(name, set, text)),
        )
        if (slice.spent) await slice.pause()
      }
      return checked
    }
    return { add: await check(add), remove: await check(remove) }
  }

  #want(name: string, set: MemberSet): void {
    this.#unwant(name)
    const entry = this.#entryOf(name)
    entry.wanted = set
    if (set.timeoutSeconds !== undefined) entry.remove.clear()
    this.#settle(name, entry)
  }

  /** The members of a set that goes are what the kernel has too many, in case the name comes back before the set has gone. */
  #unwant(name: string): void {
    const entry = this.#entries.get(name)
    if (entry === undefined) return
    this.#removeMembers(name, [...entry.members])
    entry.wanted = undefined
    this.#unwritten.add(name)
    if (entry.held !== undefined) return
    this.#unwritten.delete(name)
    this.#entries.delete(name)
  }

  #addMembers(name: string, elements: readonly string[]): void {
    const entry = this.#entryOf(name)
    for (const element of elements) {
      if (entry.members.has(element)) continue
      entry.members.add(element)
      if (!entry.remove.delete(element)) entry.add.add(element)
    }
    this.#settle(name, entry)
  }

  #removeMembers(name: string, elements: readonly string[]): void {
    const entry = this.#entryOf(name)
    for (const element of elements)
      if (entry.members.delete(element) && !entry.add.delete(element)) entry.remove.add(element)
    this.#settle(name, entry)
  }

  #settle(name: string, entry: Entry): void {
    if (describeProblem(entry) === undefined) this.#unwritten.delete(name)
    else this.#unwritten.add(name)
  }

  #entryOf(name: string): Entry {
    const found = this.#entries.get(name)
    if (found !== undefined) return found
    const entry = {
      wanted: undefined,
      members: new Set<string>(),
      held: undefined,
      add: new Set<string>(),
      remove: new Set<string>(),
    }
    this.#entries.set(name, entry)
    return entry
  }
}

/** The kernel enlarges the table of a set again and again as members come; with more than this a new set of the right size is quicker. */
const manyMembers = 4_096

/** The way from the kernel's set to the wanted one; undefined where the kernel has none. The old set must also have room for members that still go. */
function wayOf({ wanted, members, held, add, remove }: Entry): ReturnType<typeof fitOf> | undefined {
  if (wanted === undefined || held === undefined) return undefined
  const fit = fitOf(wanted, held, members.size + remove.size)
  const isQuicker = add.size > manyMembers && 2 * add.size > members.size && wanted.counters !== true
  return fit === 'same' && isQuicker ? 'exchange' : fit
}

const noMembers: ReadonlySet<string> = new Set()

function describeProblem({ wanted, held, members, add, remove }: Entry): SetDrift['problem'] | undefined {
  if (wanted === undefined) return held === undefined ? undefined : 'unwanted'
  if (held === undefined) return 'missing'
  const isSame = add.size === 0 && remove.size === 0 && fitOf(wanted, held, members.size) === 'same'
  return isSame ? undefined : 'different'
}

function shapeOf(set: MemberSet, count: number): HeldShape {
  const { type, family, counters, timeoutSeconds } = set
  return { type, family, counters: counters === true, timeoutSeconds, maxElements: roomOf(set, count) }
}

function unknownSet(name: string): NetfilterError {
  return new NetfilterError('unknown-set', `set ${name} is to change and is not wanted`, {
    remedy: 'create it in the same step or an earlier one',
  })
}
