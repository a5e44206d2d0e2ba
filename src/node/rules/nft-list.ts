import type { ListEnd, NetfilterSocket } from '../../host/index.ts'
import {
  encodeElementList,
  encodeElementQuery,
  encodeTableQuery,
  type ListedElement,
  readElements,
} from '../../netfilter/nft/element-messages.ts'
import { type SetSpec, stateSet, type TableName } from '../../netfilter/nft/types.ts'

/**
 * Hands over each element of a set, in turns with other work. `changed`: some may be missing or stand twice, as the tables
 * changed meanwhile.
 */
export function listElements(
  socket: Pick<NetfilterSocket, 'list'>,
  table: TableName,
  spec: SetSpec,
  take: (element: ListedElement) => void,
): Promise<ListEnd> {
  return socket.list(encodeElementList(table, spec.name), (payload) => {
    const elements = readElements(payload, spec)
    elements?.forEach(take)
    return elements !== undefined
  })
}

/** Returns the element of a set that has this key, given by its bytes; undefined where there is none. */
function findElement(
  socket: Pick<NetfilterSocket, 'ask'>,
  table: TableName,
  spec: SetSpec,
  key: Buffer,
): ListedElement | undefined {
  const answer = socket.ask(encodeElementQuery(table, spec.name, key))
  return answer && readElements(answer, spec)?.[0]
}

export function hasTable(socket: Pick<NetfilterSocket, 'ask'>, table: TableName): boolean {
  return socket.ask(encodeTableQuery(table)) !== undefined
}

/** A mark is a number of 32 bits, as a classid is. */
const stateSpec: SetSpec = { name: stateSet, key: ['classid'], data: [], isInterval: false }
const stateKey = Buffer.from([1, 0, 0, 0])

/** Returns the comment of the state's element; undefined where the table, the element or the comment is missing. */
export function readStateComment(socket: Pick<NetfilterSocket, 'ask'>, table: TableName): string | undefined {
  return findElement(socket, table, stateSpec, stateKey)?.comment
}
