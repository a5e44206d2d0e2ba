import { EVENT_ID, type Event, getScalarValue } from 'js-yaml'
import { repeatedKey } from './field-problems.ts'

/** An open collection during the scan; `keys` is undefined for a list. */
interface Open {
  readonly keys: Set<string> | undefined
  isKeyNext: boolean
}

/** Finds repeated keys: `line 10: key "a" already set in map` for each, the first `limit` of them. */
export function findRepeatedKeys(text: string, events: readonly Event[], limit: number): readonly string[] {
  const found: string[] = []
  const lines = new LineCount(text)
  const open: Open[] = []
  for (const event of events) {
    if (found.length === limit) break
    const keys = event.type === EVENT_ID.POP ? undefined : enter(open, event)
    if (event.type === EVENT_ID.POP) open.pop()
    if (keys === undefined || event.type !== EVENT_ID.SCALAR) continue
    const key = getScalarValue(text, event)
    if (!keys.has(key)) keys.add(key)
    else found.push(repeatedKey(lines.lineAt(event.valueStart), key))
  }
  return found
}

/** Records a node; returns the keys of the map in which the node is a key. */
function enter(open: Open[], { type }: Event): Set<string> | undefined {
  const parent = open.at(-1)
  const isKey = parent?.isKeyNext === true
  if (parent !== undefined) parent.isKeyNext = parent.keys !== undefined && !isKey
  if (type === EVENT_ID.MAPPING) open.push({ keys: new Set(), isKeyNext: true })
  else if (type !== EVENT_ID.SCALAR && type !== EVENT_ID.ALIAS) open.push({ keys: undefined, isKeyNext: false })
  return isKey ? parent.keys : undefined
}

/** Counts the lines up to positions that only grow, so that the text is scanned once. */
class LineCount {
  readonly #text: string
  #at = 0
  #line = 1

  constructor(text: string) {
    this.#text = text
  }

  lineAt(position: number): number {
    for (let next = this.#next(); next !== -1 && next < position; next = this.#next()) {
      this.#at = next + 1
      this.#line++
    }
    return this.#line
  }

  #next(): number {
    return this.#text.indexOf('\n', this.#at)
  }
}
