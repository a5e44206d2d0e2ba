import type { Stages } from '../../loop/time-slice.ts'
import type { MemberSet, SetChange } from '../../netfilter/member-sets.ts'

interface PlannedSet {
  readonly set: MemberSet
  /** How many sources want each element. */
  readonly counts: Map<string, number>
}

/**
 * The elements that sets should hold, each with the number of its sources: an address may be wanted by a pod and by a network. A step
 * ends with `finish`, which says what differs from the end of the step before; what comes and goes within a step is not in it.
 */
export class PlannedMembers {
  readonly #sets = new Map<string, PlannedSet>()
  /** The sets of this step's beginning that have been opened or closed since; undefined for those that were not there. */
  readonly #before = new Map<string, PlannedSet | undefined>()
  /** Whether an element was there when this step began, of those touched since. */
  readonly #touched = new Map<string, Map<string, boolean>>()

  open(name: string, set: MemberSet): void {
    this.#remember(name)
    this.#sets.set(name, { set, counts: new Map() })
  }

  close(name: string): void {
    this.#remember(name)
    this.#sets.delete(name)
  }

  has(name: string): boolean {
    return this.#sets.has(name)
  }

  add(name: string, element: string): void {
    const counts = this.#counts(name)
    const count = counts.get(element) ?? 0
    counts.set(element, count + 1)
    if (count === 0) this.#touch(name, element, false)
  }

  remove(name: string, element: string): void {
    const counts = this.#counts(name)
    const count = counts.get(element) ?? 0
    if (count > 1) counts.set(element, count - 1)
    else if (counts.delete(element)) this.#touch(name, element, true)
  }

  /** All sets with the elements that they should hold, by name. */
  *sets(): Iterable<readonly [name: string, set: MemberSet, elements: Iterable<string>]> {
    for (const [name, { set, counts }] of this.#sets) yield [name, set, counts.keys()]
  }

  /** Ends the step, with a pause after each set. */
  *finish(): Stages<SetChange> {
    const create = new Map<string, MemberSet>()
    const destroy: string[] = []
    const add = new Map<string, readonly string[]>()
    const remove = new Map<string, readonly string[]>()
    for (const [name, before] of this.#before) {
      const now = this.#sets.get(name)
      if (before !== undefined) destroy.push(name)
      if (now === undefined) continue
      create.set(name, now.set)
      if (now.counts.size > 0) add.set(name, [...now.counts.keys()])
      yield
    }
    for (const [name, elements] of this.#touched) {
      if (this.#before.has(name)) continue
      const { come, gone } = compare(elements, this.#counts(name))
      if (come.length > 0) add.set(name, come)
      if (gone.length > 0) remove.set(name, gone)
    }
    this.#before.clear()
    this.#touched.clear()
    return { create, add, remove, destroy }
  }

  #counts(name: string): Map<string, number> {
    return this.#sets.get(name)?.counts ?? new Map()
  }

  #remember(name: string): void {
    if (!this.#before.has(name)) this.#before.set(name, this.#sets.get(name))
  }

  #touch(name: string, element: string, was: boolean): void {
    if (this.#before.has(name)) return
    const elements = this.#touched.get(name)
    if (elements === undefined) this.#touched.set(name, new Map([[element, was]]))
    else if (!elements.has(element)) elements.set(element, was)
  }
}

/** @param touched whether each of these elements was there before */
function compare(
  touched: ReadonlyMap<string, boolean>,
  now: ReadonlyMap<string, number>,
): Readonly<Record<'come' | 'gone', readonly string[]>> {
  const changed = [...touched].filter(([element, was]) => now.has(element) !== was)
  const [gone, come] = [changed.filter(([, was]) => was), changed.filter(([, was]) => !was)]
  return { come: come.map(([element]) => element), gone: gone.map(([element]) => element) }
}
