import type { IpFamily } from '../model/ip.ts'
import { checkSetName } from './set-name.ts'

/** An ipset of addresses that rules fill and the kernel empties: each address leaves when its time is over. */
export interface AddressSet {
  readonly family: IpFamily
  readonly timeoutSeconds: number
  readonly maxElements: number
}

/** Sets by name; the names are those of chains. */
export type AddressSets = ReadonlyMap<string, AddressSet>

/** Input of `ipset restore` before and after the rules. Both may be empty. */
export interface SetPlan {
  /** Before the rules that name the sets. */
  readonly before: string
  /** After the rules that named the sets which go. */
  readonly after: string
}

/**
 * Plans the commands that turn the sets in the kernel into the wanted ones. A set with another timeout is replaced by a
 * new one of the same name in one step, so rules that name it stay as they are; its members are lost.
 *
 * @param held our own sets only, as `parseSets` gives them
 */
export function planSets(wanted: AddressSets, held: AddressSets): SetPlan {
  const before: string[] = []
  for (const name of [...wanted.keys()].sort()) {
    const [set, other] = [wanted.get(name), held.get(name)]
    if (set === undefined || (other !== undefined && isSame(set, other))) continue
    before.push(...(other === undefined ? [create(name, set)] : exchange(name, set)))
  }
  const gone = [...held.keys()].filter((name) => !wanted.has(name)).sort()
  return { before: text(before), after: text(gone.map((name) => `destroy ${checkSetName(name)}`)) }
}

/** Reads what `ipset save` prints; sets that are not ours (`PLAT-*`), not of our kind, or of our members are left out. */
export function parseSets(saved: string): AddressSets {
  const sets = new Map<string, AddressSet>()
  for (const line of saved.split('\n')) {
    const [, name, options] = /^create (PLAT-(?!NP-)\S+) hash:ip (.*)$/.exec(line) ?? []
    if (name === undefined || options === undefined) continue
    const value = (option: string) => new RegExp(`(?:^| )${option} (\\S+)`).exec(options)?.[1]
    const family = value('family') === 'inet6' ? 'IPv6' : 'IPv4'
    sets.set(name, {
      family,
      timeoutSeconds: Number(value('timeout') ?? 0),
      maxElements: Number(value('maxelem') ?? 0),
    })
  }
  return sets
}

function isSame(a: AddressSet, b: AddressSet): boolean {
  return a.family === b.family && a.timeoutSeconds === b.timeoutSeconds && a.maxElements === b.maxElements
}

function create(name: string, { family, timeoutSeconds, maxElements }: AddressSet): string {
  const inet = family === 'IPv4' ? 'inet' : 'inet6'
  return `create ${checkSetName(name)} hash:ip family ${inet} maxelem ${maxElements} timeout ${timeoutSeconds}`
}

/** `swap` wants two sets of one kind, family included; ours never change theirs, as the name holds the address of the endpoint. */
function exchange(name: string, set: AddressSet): string[] {
  const spare = 'PLAT-SPARE'
  return [create(spare, set), `swap ${spare} ${checkSetName(name)}`, `destroy ${spare}`]
}

function text(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('')
}
