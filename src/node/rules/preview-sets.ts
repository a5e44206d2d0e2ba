import type { IpFamily } from '../../model/ip.ts'
import { createLines, fitOf, type HeldMemberSet } from '../../netfilter/member-sets.ts'
import type { ChainDifference } from './preview.ts'
import type { WantedSet } from './wanted-sets.ts'

/** Returns the changes of sets that a write would make; a set that is made, or made anew, has a line of its own before its members. */
export function previewSets(
  wanted: ReadonlyMap<string, WantedSet>,
  held: ReadonlyMap<string, HeldMemberSet>,
  family: IpFamily,
): readonly ChainDifference[] {
  const ours = new Map([...held].filter(([, set]) => set.family === family))
  const names = [...new Set([...wanted.keys(), ...ours.keys()])].sort()
  return names.flatMap((name) => compareSet(name, wanted.get(name), ours.get(name)))
}

function compareSet(name: string, wanted?: WantedSet, held?: HeldMemberSet): readonly ChainDifference[] {
  const isFilledByRules = wanted?.set.timeoutSeconds !== undefined
  const [want, have] = [wanted?.members ?? none, isFilledByRules ? none : (held?.members ?? none)]
  const isSameForm = wanted !== undefined && held !== undefined && fitOf(wanted.set, held, want.size) === 'same'
  if (isSameForm && want.size === have.size && want.isSubsetOf(have)) return []
  const problem = held === undefined ? 'missing' : wanted === undefined ? 'unwanted' : 'different'
  const form = {
    wanted: isSameForm || wanted === undefined ? [] : createLines(name, wanted.set, none),
    found: isSameForm || held === undefined ? [] : [describeHeld(name, held)],
  }
  return [
    {
      table: 'ipset',
      chain: name,
      problem,
      wanted: [...form.wanted, ...want.difference(have)],
      found: [...form.found, ...have.difference(want)],
    },
  ]
}

const none: ReadonlySet<string> = new Set()

function describeHeld(name: string, { type, family, maxElements, timeoutSeconds, counters }: HeldMemberSet): string {
  const options = [
    `family ${family === 'IPv4' ? 'inet' : 'inet6'} maxelem ${maxElements}`,
    ...(timeoutSeconds === undefined ? [] : [`timeout ${timeoutSeconds}`]),
    ...(counters ? ['counters'] : []),
  ]
  return `create ${name} ${type} ${options.join(' ')}`
}
