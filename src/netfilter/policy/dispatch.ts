import type { IpFamily } from '../../model/ip.ts'
import { markBits } from '../mark-bits.ts'
import { jump, rule } from '../rule-parts.ts'
import type { Chain, Match, Rule, Side } from '../ruleset.ts'
import {
  bucketChain,
  bucketSet,
  denyChain,
  fixedSets,
  groupChain,
  groupSet,
  type PolicyDirection,
  policyChains,
} from './names.ts'

const bit = markBits.policyAllowed

/** The bit that says "allowed" is set. */
export const isAllowed: Match = { kind: 'mark', value: bit, mask: bit }
/** Unsets the bit. */
export const clearBit: Rule = rule([isAllowed], { kind: 'mark-xor', mask: bit })

/** The side of a packet that a direction isolates. */
export function isolatedSide(direction: PolicyDirection): Side {
  return direction === 'ingress' ? 'dst' : 'src'
}

/**
 * Asks the policies of a group until one allows. What none allows is denied here, where a pod stands in its group: so an address
 * that is isolated already, of a group that the kernel does not know yet, goes on as before.
 */
export function groupRules(direction: PolicyDirection, policyChains: readonly string[]): Chain {
  const asked = policyChains.flatMap((chain) => [rule([], jump(chain)), rule([isAllowed], { kind: 'return' })])
  return [...asked, rule([], { kind: 'goto', chain: denyChain(direction) })]
}

/** Leads the pods of each group of a bucket to its chain. A pod of none returns. */
export function bucketRules(direction: PolicyDirection, family: IpFamily, groups: readonly string[]): Chain {
  const side = isolatedSide(direction)
  return groups.toSorted().map((group) =>
    rule([{ kind: 'in-set', set: groupSet(direction, family, group), by: [side] }], {
      kind: 'goto',
      chain: groupChain(direction, group),
    }),
  )
}

/**
 * Leads an isolated pod to its bucket, and a packet that is allowed there past the other buckets. A mark that others set on the way
 * here does not count, and none of ours leaves.
 */
export function directionRules(direction: PolicyDirection, family: IpFamily, buckets: readonly string[]): Chain {
  const side = isolatedSide(direction)
  return [
    clearBit,
    rule([{ kind: 'in-set', set: fixedSets(family).unknown, by: [side] }], jump(denyChain(direction))),
    ...buckets
      .toSorted()
      .flatMap((bucket) => [
        rule(
          [{ kind: 'in-set', set: bucketSet(direction, family, bucket), by: [side] }],
          jump(bucketChain(direction, bucket)),
        ),
        rule([isAllowed], { kind: 'goto', chain: policyChains.clear }),
      ]),
    clearBit,
  ]
}
