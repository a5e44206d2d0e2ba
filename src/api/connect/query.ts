import { badRequest } from '../status.ts'

/** Reads a switch of a query as Kubernetes does: all but `false` and `0` is true, once it is named. */
export function readSwitch(query: URLSearchParams, name: string): boolean {
  const text = query.get(name)
  return text !== null && !['false', '0'].includes(text.toLowerCase())
}

const maxInt64 = 2n ** 63n - 1n

/** Reads a whole number of 64 bits; undefined where the query has none. Throws a 400 in kube-apiserver's words. */
export function readInteger(query: URLSearchParams, name: string): bigint | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  const why = (reason: string) => badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: ${reason}`)
  if (!/^[+-]?\d{1,100}$/.test(text)) throw why('invalid syntax')
  const value = BigInt(text.replace(/^\+/, ''))
  if (value > maxInt64 || value < -maxInt64 - 1n) throw why('value out of range')
  return value
}
