import { flag } from './codes.ts'
import { foldName } from './name.ts'
import type { Query } from './query.ts'

/** Returns the key under which an answer is cached: the name in lower case, type, class, DO and CD. */
export function questionKey(query: Query): string {
  const bits = (query.dnssecOk ? 1 : 0) + ((query.flags & flag.CD) === 0 ? 0 : 2)
  return `${bits}/${query.class}/${query.type}/${foldName(query.name).toString('latin1')}`
}
