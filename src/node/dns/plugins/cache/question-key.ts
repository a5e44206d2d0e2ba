import { flag } from '../../wire/codes.ts'
import { foldName } from '../../wire/name.ts'
import type { Query } from '../../wire/query.ts'

/** Returns the key under which an answer is cached: the name in lower case, type, class, DO and CD. */
export function questionKey(query: Query): string {
  const bits = (query.dnssecOk ? 1 : 0) + ((query.flags & flag.CD) === 0 ? 0 : 2)
  return `${bits}/${query.class}/${query.type}/${foldName(query.name).toString('latin1')}`
}
