import type { ListEnd, NetfilterSocket } from '../../host/index.ts'
import {
  encodeElementList,
  encodeElementQuery,
  encodeTableQuery,
  type ListedElement,
  readElements,
  readGeneration,
} from '../../netfilter/nft/element-messages.ts'
import { encodePartList, readTableFlags, readTablePart } from '../../netfilter/nft/table-messages.ts'
import { type SetSpec, stateKey, stateSpec, type TableName } from '../../netfilter/nft/types.ts'

/** The end of a list of elements. `changed`: tables changed meanwhile, so elements may be missing or stand twice. */
export type ElementListEnd = ListEnd | 'changed'

/** Hands over each element of a set, in turns with other work. */
export async function listElements(
  socket: Pick<NetfilterSocket, 'list'>,
  table: TableName,
  spec: SetSpec,
  take: (element: ListedElement) => void,
): Promise<ElementListEnd> {
  const generations = new Set<number>()
  const end = await socket.list(encodeElementList(table, spec.name), (payload) => {
    generations.add(readGeneration(payload))
    const elements = readElements(payload, spec)
    elements?.forEach(take)
    return elements !== undefined
  })
  return end === 'complete' && generations.size > 1 ? 'changed' : end
}

/** Returns the element that has this key now, in a set without intervals; undefined where there is none. Takes some ten microseconds. */
export function findElement(
  socket: Pick<NetfilterSocket, 'ask'>,
  table: TableName,
  spec: SetSpec,
  key: string,
): ListedElement | undefined {
  const answer = socket.ask(encodeElementQuery(table, spec, key))
  return answer && readElements(answer, spec)?.[0]
}

/**
 * Prints a table beside its elements, a line for each set, chain and rule: equal texts mean equal rules. Undefined where there is no such table, or a
 * list was not complete.
 */
export async function listTable(
  socket: Pick<NetfilterSocket, 'ask' | 'list'>,
  table: TableName,
): Promise<string | undefined> {
  const answer = socket.ask(encodeTableQuery(table))
  if (answer === undefined) return undefined
  const lines = [`table ${readTableFlags(answer)}`]
  const generations = new Set<number>()
  for (const part of ['set', 'chain', 'rule'] as const) {
    const end = await socket.list(encodePartList(table, part), (payload) => {
      generations.add(readGeneration(payload))
      const line = readTablePart(payload, table, part)
      if (line !== undefined) lines.push(line)
      return true
    })
    if (end !== 'complete') return undefined
  }
  return generations.size > 1 ? undefined : lines.join('\n')
}

export function hasTable(socket: Pick<NetfilterSocket, 'ask'>, table: TableName): boolean {
  return socket.ask(encodeTableQuery(table)) !== undefined
}

/** Returns the comment of the state's element; undefined where the table, the element or the comment is missing. */
export function readStateComment(socket: Pick<NetfilterSocket, 'ask'>, table: TableName): string | undefined {
  return findElement(socket, table, stateSpec, stateKey)?.comment
}
