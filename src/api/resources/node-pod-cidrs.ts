import { isDeepStrictEqual } from 'node:util'
import { type Cidr, ipFamily, parseCidr } from '../../model/ip.ts'
import { describeSpecialKind, specialKindIn } from '../../model/special-addresses.ts'
import { type ApiDocument, listAt, objectAt, textAt } from '../document.ts'
import { type FieldError, forbiddenField, invalidField } from '../schema/field-error.ts'

const badCidr = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'

/** Returns a node with both `podCIDR` and `podCIDRs`: clients write one of them, and readers may use either. */
export function fillPodCidrs(node: ApiDocument): ApiDocument {
  const [single, list] = [textAt(node['spec'], 'podCIDR'), podCidrsOf(node)]
  const [first] = list
  if (first === undefined || (single !== '' && listAt(node['spec'], 'podCIDRs').length > 0)) return node
  return { ...node, spec: { ...objectAt(node['spec']), podCIDR: first, podCIDRs: [...list] } }
}

/** Checks that a node keeps its networks: routes and pods depend on them. Values stored before this check existed stay. */
export function validatePodCidrs(node: ApiDocument, old: ApiDocument | undefined): readonly FieldError[] {
  const [before, after] = [old === undefined ? [] : podCidrsOf(old), podCidrsOf(node)]
  const isSame =
    isDeepStrictEqual(before, after) && textAt(node['spec'], 'podCIDR') === textAt(old?.['spec'], 'podCIDR')
  if (isSame) return []
  if (before.length === 0)
    return [...validateFirst(node), ...after.flatMap(validatePodCidr), ...validateFamilies(after)]
  return [forbiddenField('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid')]
}

function podCidrsOf(node: ApiDocument): readonly string[] {
  const list = listAt(node['spec'], 'podCIDRs').map((item) => textAt(item))
  const single = textAt(node['spec'], 'podCIDR')
  return list.length === 0 && single !== '' ? [single] : list
}

function validateFirst(node: ApiDocument): readonly FieldError[] {
  const [single, [first]] = [textAt(node['spec'], 'podCIDR'), podCidrsOf(node)]
  if (single === '' || single === first) return []
  return [invalidField('spec.podCIDR', single, 'must match `podCIDRs[0]` if both are set')]
}

/** Checks that the network is in canonical form and holds no host-local address: every node routes it. */
function validatePodCidr(text: string, index: number): readonly FieldError[] {
  const field = `spec.podCIDRs[${index}]`
  const cidr = parseCidr(text)
  if (cidr === undefined) return [invalidField(field, text, badCidr)]
  if (cidr !== text) return [invalidField(field, text, `must be in canonical form ("${cidr}")`)]
  const kind = specialKindIn(cidr)
  return kind === undefined
    ? []
    : [invalidField(field, text, `may not hold addresses that are ${describeSpecialKind(kind)}`)]
}

function validateFamilies(podCidrs: readonly string[]): readonly FieldError[] {
  const families = podCidrs.map((text) => ipFamily(text as Cidr))
  if (new Set(families).size === families.length) return []
  return [invalidField('spec.podCIDRs', [...podCidrs], 'may specify no more than one CIDR for each IP family')]
}
