import type { SetElement } from '../../../netfilter/nft/types.ts'
import type { ChainDifference } from '../preview.ts'
import type { ElementDifference } from './element-difference.ts'

/** Returns the changes that a write would make. `rules`: present where the rules in the kernel are not as they were written. */
export function previewElements(
  differences: ReadonlyMap<string, ElementDifference>,
  rules: { readonly isThere: boolean; readonly version: string } | undefined,
): readonly ChainDifference[] {
  const sets = Array.from(differences, ([set, { add, remove }]): ChainDifference => {
    const problem = remove.length === 0 ? 'missing' : add.length === 0 ? 'unwanted' : 'different'
    return { table: 'nftables', chain: `set ${set}`, problem, wanted: add.map(textOf), found: remove.map(textOf) }
  })
  if (rules === undefined) return sets
  const problem = rules.isThere ? 'different' : 'missing'
  const wanted = [`the rules of version ${rules.version}`]
  const found = rules.isThere ? ['rules, chains or sets that another program changed'] : []
  return [{ table: 'nftables', chain: 'rules', problem, wanted, found }, ...sets]
}

function textOf({ key, data }: SetElement): string {
  return data === '' ? key : `${key} : ${data}`
}
