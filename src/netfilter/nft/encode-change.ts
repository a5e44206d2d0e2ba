import type { NetlinkMessage } from '../netlink.ts'
import { encodeElementChange, encodeStateChange } from './element-messages.ts'
import { elementsBySet, renderStateComment } from './render-change.ts'
import type { ElementChange, NftTable, SetElement, TableState } from './types.ts'

/** A message of netlink has room for some hundreds, and a change of so many is no hurry. */
const maxElements = 256

/**
 * Encodes what `renderChange` renders as messages of one transaction, for a kernel that has the state's element. Returns undefined for a
 * change of many elements, of sets with intervals, or with an element that the kernel could not take.
 *
 * @throws BadElementError for an element that is none of its set
 */
export function encodeChange(
  table: NftTable,
  changes: readonly ElementChange[],
  state: TableState,
): readonly NetlinkMessage[] | undefined {
  const removed = encodeElements(
    'delete',
    table,
    changes.flatMap(({ remove }) => remove),
  )
  const added = encodeElements(
    'add',
    table,
    changes.flatMap(({ add }) => add),
  )
  if (removed === undefined || added === undefined) return undefined
  return [...removed, ...added, ...encodeStateChange(table, renderStateComment(state))]
}

function encodeElements(
  verb: 'add' | 'delete',
  table: NftTable,
  elements: readonly SetElement[],
): readonly NetlinkMessage[] | undefined {
  if (elements.length > maxElements) return undefined
  const messages: NetlinkMessage[] = []
  for (const [set, ofSet] of elementsBySet(verb, elements, table.family)) {
    const spec = table.sets.find(({ name }) => name === set)
    if (spec === undefined || spec.isInterval) return undefined
    try {
      messages.push(encodeElementChange(verb, table, spec, [...ofSet.values()]))
    } catch {
      // Of the right form, and no number of a port or no address: nft says what is wrong with it.
      return undefined
    }
  }
  return messages
}
