import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  type HeldMemberSet,
  type MemberSet,
  MemberSetParser,
  type SetChange,
} from '../../../../src/netfilter/member-sets.ts'
import { WantedSets } from '../../../../src/node/rules/wanted-sets.ts'

/** Sets behind `ipset restore -exist`. */
class Kernel {
  sets = new Map<string, { readonly create: string; readonly members: Set<string> }>()

  meddle({ name, member, action }: Extract<Step, { kind: 'meddle' }>): void {
    const members = this.sets.get(name)?.members
    if (action === 'flush') members?.clear()
    else if (action === 'add') members?.add(foreign)
    else members?.delete(member)
  }

  restore(lines: readonly string[], upTo = lines.length): void {
    for (const line of lines.slice(0, upTo)) this.#carryOut(line)
  }

  read(): ReadonlyMap<string, HeldMemberSet> {
    const parser = new MemberSetParser()
    for (const [name, { create, members }] of this.sets) {
      parser.readLine(`create ${name} ${create}`)
      for (const member of members) parser.readLine(`add ${name} ${member}`)
    }
    return parser.sets
  }

  #carryOut(line: string): void {
    const [verb, name = '', ...rest] = line.split(' ')
    const set = this.sets.get(name)
    if (verb === 'create') {
      if (set !== undefined && set.create !== rest.join(' ')) throw new Error(`${name} exists with other options`)
      if (set === undefined) this.sets.set(name, { create: rest.join(' '), members: new Set() })
    } else if (verb === 'destroy') this.sets.delete(name)
    else if (set === undefined) throw new Error(`${line}: no such set`)
    else if (verb === 'add') this.#add(set, rest[0] ?? '')
    else if (verb === 'del') set.members.delete(rest[0] ?? '')
    else if (verb === 'swap') this.#swap(name, rest[0] ?? '')
  }

  #add(set: { readonly create: string; readonly members: Set<string> }, member: string): void {
    set.members.add(member)
    const room = Number(/maxelem (\d+)/.exec(set.create)?.[1])
    if (set.members.size > room) throw new Error('Hash is full, cannot add more elements')
  }

  #swap(one: string, other: string): void {
    const [a, b] = [this.sets.get(one), this.sets.get(other)]
    if (a === undefined || b === undefined || kindOf(a.create) !== kindOf(b.create))
      throw new Error('type does not match')
    this.sets.set(one, b).set(other, a)
  }
}

function kindOf(create: string): string {
  return create.split(' ').slice(0, 3).join(' ')
}

type Wanted = ReadonlyMap<string, readonly [set: MemberSet, members: ReadonlySet<string>]>

const shapes: readonly MemberSet[] = [
  { type: 'hash:ip', family: 'IPv4', maxElements: 3 },
  { type: 'hash:ip', family: 'IPv4', maxElements: 3, counters: true },
  { type: 'hash:net', family: 'IPv4', maxElements: 2 },
]
const wanted: fc.Arbitrary<Wanted> = fc
  .uniqueArray(
    fc.tuple(
      fc.constantFrom('PLAT-NP-A', 'PLAT-NP-B', 'PLAT-NP-C'),
      fc.constantFrom(...shapes),
      fc.uniqueArray(fc.constantFrom(...Array.from({ length: 9 }, (_, index) => `10.0.0.${index}`))),
    ),
    { selector: ([name]) => name },
  )
  .map((entries) => new Map(entries.map(([name, set, members]) => [name, [set, new Set(members)] as const])))

type Step =
  | { readonly kind: 'want'; readonly wanted: Wanted }
  | { readonly kind: 'write'; readonly failsAfter: number | undefined }
  | {
      readonly kind: 'meddle'
      readonly name: string
      readonly member: string
      readonly action: 'flush' | 'add' | 'remove'
    }
  | { readonly kind: 'verify' }

/** Never wanted. */
const foreign = '10.9.9.9'

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('want'), wanted }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('write'), failsAfter: fc.option(fc.nat(6), { nil: undefined }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('meddle'),
      name: fc.constantFrom('PLAT-NP-A', 'PLAT-NP-B'),
      member: fc.constantFrom('10.0.0.1', foreign),
      action: fc.constantFrom('flush', 'add', 'remove'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('verify') }) },
)

/** One step from what was wanted to what is wanted. */
function changeBetween(before: Wanted, after: Wanted): SetChange {
  const isNew = (name: string) => JSON.stringify(before.get(name)?.[0]) !== JSON.stringify(after.get(name)?.[0])
  const gone = [...before.keys()].filter((name) => !after.has(name) || isNew(name))
  const membersOf = (from: Wanted, name: string) =>
    isNew(name) && from === before ? new Set<string>() : (from.get(name)?.[1] ?? new Set<string>())
  const differing = (from: Wanted, to: Wanted) =>
    new Map(
      [...after.keys()].map(
        (name) => [name, [...membersOf(to, name)].filter((member) => !membersOf(from, name).has(member))] as const,
      ),
    )
  return {
    create: new Map([...after].filter(([name]) => isNew(name)).map(([name, [set]]) => [name, set])),
    add: differing(before, after),
    remove: differing(after, before),
    destroy: gone,
  }
}

/** The shell around `WantedSets`: reads after failures. */
class Shell {
  readonly sets = new WantedSets('IPv4')
  readonly kernel = new Kernel()
  #isKnown = false

  async write(failsAfter?: number): Promise<void> {
    if (!this.#isKnown) await this.verify()
    const { before, after } = this.sets.write()
    if (this.#isTooFull(before)) {
      this.#isKnown = false
      return
    }
    if (failsAfter !== undefined && failsAfter < before.length + after.length) {
      this.kernel.restore([...before, ...after], failsAfter)
      this.#isKnown = false
      return
    }
    this.kernel.restore(before)
    this.sets.confirmBefore()
    this.kernel.restore(this.sets.write().after)
    this.sets.confirmAfter()
    const { leftovers } = this.sets
    this.kernel.restore(leftovers.map((name) => `destroy ${name}`))
    for (const name of leftovers) this.sets.confirmDestroyed(name)
  }

  async verify(): Promise<void> {
    this.sets.beginRead()
    await this.sets.compare(this.kernel.read())
    this.#isKnown = true
  }

  /** Whether members that others added leave no room; the kernel then refuses the write. Else asserts what a write promises. */
  #isTooFull(before: readonly string[]): boolean {
    const copies = this.kernel.sets
      .entries()
      .map(([name, { create, members }]) => [name, { create, members: new Set(members) }] as const)
    const kernel = new Kernel()
    kernel.sets = new Map(copies)
    try {
      kernel.restore(before)
    } catch (error) {
      assert.match(String(error), /Hash is full/)
      assert.ok(this.kernel.sets.values().some(({ members }) => members.has(foreign)))
      return true
    }
    this.#assertNothingLost(kernel)
    return false
  }

  /** Before the rules have changed, no set of the same kind may lose a member of ours. */
  #assertNothingLost(kernel: Kernel): void {
    for (const [name, { create, members }] of this.kernel.sets) {
      const now = kernel.sets.get(name)
      if (name.startsWith('PLAT-NP-SPARE') || now === undefined || kindOf(now.create) !== kindOf(create)) continue
      const ours = new Set([...members].filter((member) => member !== foreign))
      assert.ok(ours.isSubsetOf(now.members), name)
    }
  }
}

/** Carries out the steps and returns what is wanted at their end. */
async function carryOut(steps: readonly Step[], shell: Shell): Promise<Wanted> {
  let last: Wanted = new Map()
  for (const each of steps) {
    if (each.kind === 'want') {
      await shell.sets.apply(changeBetween(last, each.wanted))
      last = each.wanted
    } else if (each.kind === 'write') await shell.write(each.failsAfter)
    else if (each.kind === 'verify') await shell.verify()
    else shell.kernel.meddle(each)
  }
  return last
}

const sorted = (entries: readonly (readonly [string, Iterable<string>])[]) =>
  entries.map(([name, members]) => [name, [...members].sort()] as const).sort()

test('after any failures and changes by others, a comparison and a write leave the kernel with what is wanted', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const shell = new Shell()
      const last = await carryOut(steps, shell)
      await shell.verify()
      await shell.write()
      const held = [...shell.kernel.sets].map(([name, { members }]) => [name, members] as const)
      assert.deepEqual(sorted(held), sorted([...last].map(([name, [, members]]) => [name, members] as const)))
      assert.deepEqual(shell.sets.write(), { before: [], after: [] })
      await shell.verify()
      assert.deepEqual(shell.sets.write(), { before: [], after: [] })
    }),
    { numRuns: 400 },
  )
})
